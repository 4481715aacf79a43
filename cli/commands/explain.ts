// `atomic explain`: the life of a payment, which its id, an idempotency key or an operation names.
import type { Client } from '../../client/index.ts'
import { unwrap } from '../../client/errors.ts'
import type { Command, OperationWithTimeline } from '../command.ts'
import { NotFoundError } from '../errors.ts'
import { whatNext } from '../next.ts'
import { getOperation } from '../operations.ts'
import { claimLines, waterfall } from '../waterfall.ts'

const LIMIT = 20

interface Found {
  readonly ids: readonly string[]
  readonly hasMore: boolean
  /** The operation that names the payment. */
  readonly operation?: OperationWithTimeline
}

export const explain: Command = async ({ client, output, subject }) => {
  const { ids, hasMore, operation } = await findPayments(client, subject)
  const payments = []
  for (const id of ids) {
    const params = { path: { id } }
    payments.push(unwrap(await client.GET('/admin/payments/{id}', { params })))
  }
  const resolution = operation?.resolution ?? null
  if (output.isJson) {
    const data = payments.map((payment) => ({ ...payment, next: nextOf(payment.life.operations) }))
    return output.json({ object: 'explanation', payments: data, resolution, has_more: hasMore })
  }
  output.lines(payments.flatMap((payment, at) => [...(at > 0 ? [''] : []), ...waterfall(payment)]))
  if (resolution !== null) output.lines(['', `${operation?.id}`, ...claimLines(resolution)])
  if (hasMore) output.lines(['', `Only the newest ${LIMIT} payments with this key are shown.`])
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
  return { ids: [operation.payment], hasMore: false, operation }
}

function isId(prefix: string, text: string): boolean {
  return new RegExp(`^${prefix}_[0-9a-z]{26}$`).test(text)
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}
