// `atomic explain`: the life of a payment, which its id, an idempotency key or an operation names.
import type { Client } from '../../client/index.ts'
import { unwrap } from '../../client/errors.ts'
import type { Command, PaymentWithLife } from '../command.ts'
import { NotFoundError } from '../errors.ts'
import { whatNext } from '../next.ts'
import { getOperation } from '../operations.ts'
import { claimLines, waterfall } from '../waterfall.ts'

const LIMIT = 20

interface Found {
  readonly ids: readonly string[]
  readonly hasMore: boolean
}

export const explain: Command = async ({ client, output, subject }) => {
  const { ids, hasMore } = await findPayments(client, subject)
  const payments = []
  for (const id of ids) {
    const params = { path: { id } }
    const payment = unwrap(await client.GET('/admin/payments/{id}', { params }))
    payments.push({ payment, claims: await findClaims(client, payment) })
  }
  if (output.isJson) {
    const data = payments.map(({ payment, claims }) => ({
      ...payment,
      next: nextOf(payment.life.operations),
      resolutions: Object.fromEntries(claims),
    }))
    return output.json({ object: 'explanation', payments: data, has_more: hasMore })
  }
  output.lines(
    payments.flatMap(({ payment, claims }, at) => [
      ...(at > 0 ? [''] : []),
      ...waterfall(payment),
      ...claims.flatMap(([id, claim]) => ['', id, ...claimLines(claim)]),
    ]),
  )
  if (hasMore) output.lines(['', `Only the newest ${LIMIT} payments with this key are shown.`])
}

/** Finds what operators last said about each operation of the payment, and the verdict. */
async function findClaims(client: Client, { life }: PaymentWithLife) {
  const operations = await Promise.all(life.operations.map(({ id }) => getOperation(client, id)))
  return operations.flatMap(({ id, resolution }) =>
    resolution === null ? [] : [[id, resolution] as const],
  )
}

/** What happens next to each operation, by its id. */
function nextOf(operations: readonly Parameters<typeof whatNext>[0][]) {
  return Object.fromEntries(operations.map((operation) => [operation.id, whatNext(operation)]))
}

/** Finds the payments, oldest first. Several tenants can use the same idempotency key. */
async function findPayments(client: Client, subject: string): Promise<Found> {
  if (isId('pay', subject)) return { ids: [subject], hasMore: false }
  if (isId('op', subject)) return await findByOperation(client, subject)
  const query = { key: subject, limit: LIMIT }
  const page = unwrap(await client.GET('/admin/payments', { params: { query } }))
  const ids = page.data.map(({ id }) => id).toReversed()
  if (ids.length > 0) return { ids, hasMore: page.has_more }
  // The metadata of the provider's objects has the UUID of an operation. A key may be a UUID, too.
  if (isUuid(subject)) return await findByOperation(client, subject)
  throw new NotFoundError('No payment has this idempotency key.')
}

async function findByOperation(client: Client, id: string): Promise<Found> {
  const operation = await getOperation(client, id)
  if (operation.payment === null) throw new NotFoundError('The operation has no payment.')
  return { ids: [operation.payment], hasMore: false }
}

function isId(prefix: string, text: string): boolean {
  return new RegExp(`^${prefix}_[0-9a-z]{26}$`).test(text)
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}
