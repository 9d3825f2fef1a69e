// Where a text stops being JSON. Engines say so in different words, and some not at all.

/** The offset of the first character that no JSON has there; the text's length where it is cut off. */
export function faultIn(text: string): number {
  let at = 0;
  /** Moves past a match, or stays. */
  const eat = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const [found] = pattern.exec(text) ?? [undefined];
    at += found?.length ?? 0;
    return found !== undefined;
  };
  const space = () => eat(/[ \t\n\r]*/y);
  const string = () => {
    if (eat(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y)) return true;
    // Into the string, as far as it is one.
    eat(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y);
    return false;
  };
  const members = (close: RegExp, member: () => boolean): boolean => {
    space();
    if (eat(close)) return true;
    do {
      space();
      if (!member()) return false;
      space();
    } while (eat(/,/y));
    return eat(close);
  };
  const value = (): boolean => {
    space();
    if (eat(/\{/y)) return members(/\}/y, () => string() && space() && eat(/:/y) && value());
    if (eat(/\[/y)) return members(/\]/y, value);
    return string() || eat(/(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])/y);
  };
  value() && space();
  return at;
}
