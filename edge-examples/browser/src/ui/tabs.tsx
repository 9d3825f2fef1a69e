/** Tabs: arrow keys move between them, the panel has the id `panel`. */
export function Tabs<T extends string>({
  label,
  tabs,
  chosen,
  choose,
}: {
  label: string;
  tabs: [T, string][];
  chosen: T;
  choose: (tab: T) => void;
}) {
  const move = (event: KeyboardEvent) => {
    const at = tabs.findIndex(([id]) => id === chosen);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const [id] = tabs.at(to % tabs.length)!;
    choose(id);
    document.getElementById(`tab-${id}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map(([id, name]) => (
        <button
          type="button"
          role="tab"
          id={`tab-${id}`}
          aria-selected={id === chosen}
          aria-controls="panel"
          tabIndex={id === chosen ? 0 : -1}
          onClick={() => choose(id)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
