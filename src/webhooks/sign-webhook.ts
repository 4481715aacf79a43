// Signs what is sent to webhook endpoints, as Standard Webhooks has it.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
import { Webhook } from 'standardwebhooks'

/** What is signed: the id stays the same over all attempts, the time is that of each of them. */
export interface WebhookMessage {
  readonly id: string
  readonly sentAt: Date
  readonly body: string
}

/** The headers that prove where a message comes from: one signature for each secret. */
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
