// Creates the secrets that sign webhooks, in the format of Standard Webhooks.
import { randomBytes } from 'node:crypto'

/** Standard Webhooks requires 24 to 64 bytes. 32 is the length of an HMAC-SHA256 digest. */
const SECRET_BYTES = 32

export function makeWebhookSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
}
