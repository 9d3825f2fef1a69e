// Signature version 4, by aws4fetch's signer. It sends nothing, so nothing of it sends again.

import { AwsV4Signer } from "aws4fetch";
import type { Sign } from "./table.js";

export interface AwsCredentials {
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** Signs for DynamoDB in a region. */
export function awsSigner(credentials: AwsCredentials): Sign {
  // The day's derived keys.
  const cache = new Map<string, ArrayBuffer>();
  return async ({ url, headers, body }, at) => {
    const datetime = at.toISOString().replace(/[:-]|\.\d{3}/g, "");
    const signer = new AwsV4Signer({
      ...credentials,
      method: "POST",
      service: "dynamodb",
      url,
      headers,
      body,
      datetime,
      cache,
      // Content-Type is left out of the signature by default.
      allHeaders: true,
    });
    return (await signer.sign()).headers;
  };
}
