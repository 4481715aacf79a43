// Checks that no log, job or table contains a secret or what looks like a card number.
import type { Lane } from './lane.ts'
import type { Violation } from './results.ts'
import type { Merchant } from './merchant.ts'

export interface Secrecy {
  readonly secrets: readonly string[]
  /** The texts to search, by the name of their place. */
  readonly texts: Readonly<Record<string, readonly string[]>>
}

/** This many characters of a secret give it away. */
const TELLTALE_LENGTH = 16

export async function readSecrecy(
  lane: Lane,
  { tenant: { id, apiKey }, history: { startedAt } }: Pick<Merchant, 'tenant' | 'history'>,
  lines: readonly string[],
): Promise<Secrecy> {
  // The job of a provider event has no tenant id.
  const rows = await lane.owner.sql<{ text: string }[]>`
    select concat(data, ' ', output) as text from atomic_jobs.job
    where data ->> 'tenantId' = ${id}
      or (name like 'provider-events%' and created_on >= ${startedAt.toISOString()})
  `
  return {
    secrets: [...lane.secrets, apiKey],
    texts: {
      'a log': lines,
      'a job': rows.map(({ text }) => text),
      'a table': await readTables(lane, id),
    },
  }
}

/** The tables with input of clients, or with copies of it. */
async function readTables({ owner: { sql } }: Lane, tenantId: string): Promise<string[]> {
  const rows = await sql<{ text: string }[]>`
    select to_jsonb(payments)::text as text from payments where tenant_id = ${tenantId}
    union all select to_jsonb(refunds)::text from refunds where tenant_id = ${tenantId}
    union all select to_jsonb(events)::text from events where tenant_id = ${tenantId}
    union all select to_jsonb(keys)::text from idempotency_keys as keys where tenant_id = ${tenantId}
    union all select to_jsonb(runs)::text from phase_runs as runs where tenant_id = ${tenantId}
    union all select to_jsonb(received)::text from provider_events as received where tenant_id = ${tenantId}
    union all select to_jsonb(found)::text from reconciliation_findings as found where tenant_id = ${tenantId}
  `
  return rows.map(({ text }) => text)
}

const DIGITS = /(?<![\w-])\d(?:[ -]?\d){12,18}(?![\w-])/g

export function checkSecrecy({ secrets, texts }: Secrecy): Violation[] {
  return Object.entries(texts).flatMap(([where, all]) =>
    all.flatMap((text) => {
      const isLeaked = secrets.some((secret) => text.includes(secret.slice(0, TELLTALE_LENGTH)))
      if (isLeaked) return [{ invariant: 10, what: `a secret is in ${where}` }]
      const numbers = (text.match(DIGITS) ?? []).filter(isCardNumber)
      return numbers.map(() => ({
        invariant: 10,
        what: `what looks like a card number is in ${where}`,
      }))
    }),
  )
}

/** By its first digit and its check digit. */
function isCardNumber(text: string): boolean {
  const digits = Array.from(text.replaceAll(/\D/g, ''), Number).toReversed()
  const sum = digits.reduce((total, digit, index) => {
    const value = index % 2 === 0 ? digit : digit * 2
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return sum % 10 === 0 && /^[3-6]/.test(text)
}
