// `atomic explain`: the life of an operation, of a payment or behind an idempotency key.
import type { Client } from '../../client/index.ts'
import type { Command } from '../command.ts'
import { NotFoundError } from '../errors.ts'
import { whatNext } from '../next.ts'
import { getOperation, listOperations } from '../operations.ts'
import { waterfall } from '../waterfall.ts'

const LIMIT = 20

export const explain: Command = async ({ client, output, subject }) => {
  const { ids, hasMore } = await findOperations(client, subject)
  if (ids.length === 0) throw new NotFoundError('No operation has this idempotency key or payment.')
  const operations = []
  for (const id of ids) operations.push(await getOperation(client, id))
  if (output.isJson) {
    const data = operations.map((operation) => ({ ...operation, next: whatNext(operation) }))
    output.json({ object: 'explanation', operations: data, has_more: hasMore })
    return
  }
  output.lines(
    operations.flatMap((operation, at) => [...(at > 0 ? [''] : []), ...waterfall(operation)]),
  )
  if (hasMore) output.lines(['', `Older operations are not shown: only the newest ${LIMIT} are.`])
}

/** Returns the ids of the operations, oldest first. */
async function findOperations(client: Client, subject: string) {
  if (isId('op', subject)) return { ids: [subject], hasMore: false }
  const filter = isId('pay', subject) ? { payment: subject } : { idempotency_key: subject }
  const { operations, hasMore } = await listOperations(client, filter, LIMIT)
  // The metadata of the provider's objects has the UUID of an operation. A key may be a UUID, too.
  if (operations.length === 0 && isUuid(subject)) return { ids: [subject], hasMore: false }
  return { ids: operations.map(({ id }) => id).toReversed(), hasMore }
}

function isId(prefix: string, text: string): boolean {
  return new RegExp(`^${prefix}_[0-9a-z]{26}$`).test(text)
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}
