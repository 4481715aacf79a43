// What a newcomer reads once the stack is ready: how to make a payment, and where to look then.
import { randomUUID } from 'node:crypto'
import type { RunningStack } from './stack.ts'

/** The text printed below the `ready` line; its command can be copied and run as it is. */
export function describeFirstPayment({
  apiUrl,
  standInUrl,
  apiKey,
  adminKey,
}: RunningStack): string {
  const idempotencyKey = randomUUID()
  const executed = standInUrl ? `${standInUrl}/_control/executed` : 'https://dashboard.stripe.com'
  return `
Make a payment. Run this twice: one Idempotency-Key never charges twice.

  curl -i ${apiUrl}/v1/payments \\
    -H 'Authorization: Bearer ${apiKey}' \\
    -H 'Idempotency-Key: ${idempotencyKey}' \\
    -H 'Content-Type: application/json' \\
    -d '{"amount":1999,"currency":"usd","payment_method":"pm_card_visa"}'

Then look, with the same Authorization, at
  the payment             ${apiUrl}/v1/payments/<its id>
  each step it took       ${apiUrl}/v1/payments/<its id>/timeline
  the key                 ${apiUrl}/v1/idempotency-keys/${idempotencyKey}
and at
  what the provider did   ${executed}
  how it works            README.md, ARCHITECTURE.md

API key of the demo tenant: ${apiKey}
Operators' key for ${apiUrl}/admin/operations: ${adminKey ?? 'as ADMIN_API_KEY says'}
Kill any process: it comes back. Ctrl-C stops all of them.
`
}
