// Makes the secrets that webhooks are signed with, in the form that Standard Webhooks gives them.
import { randomBytes } from 'node:crypto'

/** Between the 24 and 64 bytes that Standard Webhooks asks for, and as long as what HMAC-SHA256 gives. */
const SECRET_BYTES = 32

export function makeWebhookSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
}
