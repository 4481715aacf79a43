// Renders the text that `npm start` prints below the `ready` line: how to make a first payment, and
// where to look at its result.
import { randomUUID } from 'node:crypto'
import type { RunningStack } from './stack.ts'

/** The `curl` command in the text can be copied and run without changes. */
export function describeFirstPayment({
  apiUrl,
  standInUrl,
  breakItUrl,
  apiKey,
  adminKey,
}: RunningStack): string {
  const idempotencyKey = randomUUID()
  const charges = standInUrl ? `${standInUrl}/_control/executed` : 'https://dashboard.stripe.com'
  return `
Make a payment. Run this command twice: the second response is a replay of the first one, and the
card is charged once.

  curl -i ${apiUrl}/v1/payments \\
    -H 'Authorization: Bearer ${apiKey}' \\
    -H 'Idempotency-Key: ${idempotencyKey}' \\
    -H 'Content-Type: application/json' \\
    -d '{"amount":1999,"currency":"usd","payment_method":"pm_card_visa"}'

Look at the result. These URLs need the same Authorization header:

  the payment            ${apiUrl}/v1/payments/<id>
  its timeline           ${apiUrl}/v1/payments/<id>/timeline
  the idempotency key    ${apiUrl}/v1/idempotency-keys/${idempotencyKey}

These URLs open in a browser:

  all charges            ${charges}
  the API reference      ${apiUrl}/docs
  the console            ${apiUrl}/console${breakItUrl ? `\n  break it               ${breakItUrl}` : ''}

API key of the demo tenant: ${apiKey}
Operator key for the console and ${apiUrl}/admin/operations: ${adminKey ?? 'see ADMIN_API_KEY'}

Every process that is killed is restarted, and its payments are completed. Try it: the process ids
are in the log above. Ctrl-C stops everything. README.md and ARCHITECTURE.md explain how it works.
`
}
