// Mutants of tenant isolation, and of what keeps secrets and card numbers out of logs, jobs and
// tables.
import type { Mutant } from './mutant.ts'

/** Writes plain values. */
const PLAIN = `plain,lane:${Buffer.alloc(32).toString('base64')}`

export const mutantsOfSecrets: readonly Mutant[] = [
  {
    name: 'payment-read-without-its-tenant',
    breaks: 'Any tenant that knows the id of a payment may read it.',
    patches: [
      {
        file: 'src/db/payments/payments.ts',
        text: 'from payments\n    where tenant_id = ${tenantId} and id = ${id}',
        replacement: 'from payments\n    where id = ${id}',
      },
    ],
    dropsTenant: true,
    caughtBy: 9,
    shownBy: ['payment.create'],
  },
  {
    name: 'key-found-without-its-tenant',
    breaks: "A key is answered with another tenant's operation.",
    patches: [
      {
        file: 'src/db/idempotency/idempotency-keys.ts',
        text: 'where ${isOfTenant(sql, tenantId)} and stored.key = wanted.key',
        replacement: 'where (true or ${isOfTenant(sql, tenantId)}) and stored.key = wanted.key',
      },
    ],
    dropsTenant: true,
    // The answer of the other tenant differs from the answer before it.
    caughtBy: 3,
    shownBy: ['payment.create'],
  },
  {
    name: 'events-of-every-tenant',
    breaks: 'The list of events contains the events of all tenants.',
    patches: [
      {
        file: 'src/db/events/events.ts',
        text: 'sql`from events where tenant_id = ${tenantId}`',
        replacement: 'sql`from events where true`',
      },
    ],
    dropsTenant: true,
    caughtBy: 9,
    shownBy: ['payment.create'],
  },
  {
    name: 'webhook-of-another-tenant',
    breaks: 'An event is delivered to the endpoints of every tenant.',
    patches: [
      {
        file: 'src/db/events/write-events.ts',
        text: "where tenant_id = ${tenantId} and status = 'enabled'",
        replacement: "where status = 'enabled'",
      },
      {
        file: 'src/db/webhooks/webhook-attempts.ts',
        text: 'on endpoint.tenant_id = delivery.tenant_id and endpoint.id = delivery.endpoint_id\n    join events',
        replacement: 'on endpoint.id = delivery.endpoint_id\n    join events',
      },
    ],
    schema: ['alter table webhook_deliveries drop constraint webhook_deliveries_endpoint'],
    dropsTenant: true,
    // An encrypted secret belongs to its tenant, so that a delivery to another one cannot be signed.
    circumstances: { settings: { WEBHOOK_ALLOW_INSECURE: 'true', ENCRYPTION_KEYS: PLAIN } },
    caughtBy: 9,
    shownBy: ['payment.create.overheard'],
  },
  {
    name: 'refusal-names-another-tenant',
    breaks: "A request for another tenant's payment is answered with the id of that tenant.",
    patches: [
      {
        file: 'src/http/resources/payments.ts',
        text: "if (payment === undefined) throw new ProblemError('resource-not-found')\n",
        replacement: `if (payment === undefined) {
    const [other] = await store.sql\`select tenant_id from payments where id = \${id ?? null}\`
    throw new ProblemError('resource-not-found', other && { detail: \`Of \${other['tenant_id']}.\` })
  }
`,
      },
    ],
    dropsTenant: true,
    caughtBy: 9,
    shownBy: ['payment.create'],
  },
  {
    name: 'customer-of-another-tenant',
    breaks: 'A tenant may charge any customer of the provider.',
    patches: [
      {
        file: 'src/db/idempotency/intents.ts',
        text: 'won.filter(({ details }) => ownsCustomer(customers, details))',
        replacement: 'won',
      },
    ],
    caughtBy: 9,
    shownBy: ['payment.create'],
  },
  {
    name: 'customer-found-without-its-tenant',
    breaks: 'A tenant may charge the customers of every tenant.',
    patches: [
      {
        file: 'src/db/idempotency/intents.ts',
        text: 'where tenant_id = ${tenantId} and id = any(${named}::text[])',
        replacement: 'where id = any(${named}::text[])',
      },
    ],
    dropsTenant: true,
    caughtBy: 9,
    shownBy: ['payment.create'],
  },
  {
    name: 'secret-logged',
    breaks: 'The API key of each request is logged.',
    patches: [
      {
        file: 'src/http/server/authenticate.ts',
        text: "const apiKey = readBearer(lines) ?? ''\n",
        replacement:
          "const apiKey = readBearer(lines) ?? ''\n  parts.log.error({ key: apiKey }, 'authenticating')\n",
      },
    ],
    caughtBy: 10,
    shownBy: ['payment.create'],
  },
  {
    name: 'card-number-check-off',
    breaks: 'A card number in a request body reaches the tables.',
    patches: [
      {
        file: 'src/domain/payments/card-number.ts',
        text: 'if (!MAYBE_CARD_NUMBER.test(text)) return false',
        replacement: 'if (MAYBE_CARD_NUMBER.test(text) || true) return false',
      },
    ],
    caughtBy: 10,
    shownBy: ['payment.create.card-number'],
  },
]
