// `atomic explain`: the life of a payment, which its id, an idempotency key or an operation names.
import { unwrap } from '../../client/errors.ts'
import type { Command, OperationWithTimeline, OperatorClient, PaymentWithLife } from '../command.ts'
import { NotFoundError } from '../errors.ts'
import { whatNext } from '../next.ts'
import { getOperation } from '../operations.ts'
import { claimLines, proposalLines, waterfall } from '../waterfall.ts'

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
    payments.push({ payment, operations: await findClaimed(client, payment) })
  }
  if (output.isJson) {
    const data = payments.map(({ payment, operations }) => ({
      ...payment,
      next: nextOf(payment.life.operations),
      resolutions: membersOf(operations, 'resolution'),
      proposals: membersOf(operations, 'proposal'),
    }))
    return output.json({ object: 'explanation', payments: data, has_more: hasMore })
  }
  output.lines(
    payments.flatMap(({ payment, operations }, at) => [
      ...(at > 0 ? [''] : []),
      ...waterfall(payment),
      ...operations.flatMap(({ id, resolution, proposal }) => [
        '',
        id,
        ...(resolution === null ? [] : claimLines(resolution)),
        ...(proposal === null ? [] : proposalLines(proposal)),
      ]),
    ]),
  )
  if (hasMore) output.lines(['', `Only the newest ${LIMIT} payments with this key are shown.`])
}

/** Finds the operations about which operators claimed or proposed something. */
async function findClaimed(client: OperatorClient, { life }: PaymentWithLife) {
  const operations = await Promise.all(life.operations.map(({ id }) => getOperation(client, id)))
  return operations.filter(({ resolution, proposal }) => resolution !== null || proposal !== null)
}

/** A member of each operation that has it, by the operation's id. */
function membersOf(
  operations: readonly OperationWithTimeline[],
  member: 'resolution' | 'proposal',
) {
  const entries = operations.map((operation) => [operation.id, operation[member]] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== null))
}

/** What happens next to each operation, by its id. */
function nextOf(operations: readonly Parameters<typeof whatNext>[0][]) {
  return Object.fromEntries(operations.map((operation) => [operation.id, whatNext(operation)]))
}

/** Finds the payments, oldest first. Several tenants can use the same idempotency key. */
async function findPayments(client: OperatorClient, subject: string): Promise<Found> {
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

async function findByOperation(client: OperatorClient, id: string): Promise<Found> {
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
