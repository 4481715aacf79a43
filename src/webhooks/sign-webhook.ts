// Signs webhook messages as specified by Standard Webhooks.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
import { Webhook } from 'standardwebhooks'

/** The signed message. The id is the same for all attempts; the time is the time of the attempt. */
export interface WebhookMessage {
  readonly id: string
  readonly sentAt: Date
  readonly body: string
}

/** The headers that prove the origin of a message, with one signature per secret. */
export function signatureHeaders(
  { id, sentAt, body }: WebhookMessage,
  secrets: readonly string[],
): Record<string, string> {
  const signatures = secrets.map((secret) => new Webhook(secret).sign(id, sentAt, body))
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)),
    'webhook-signature': signatures.join(' '),
  }
}
