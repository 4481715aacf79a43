// Finds the Stripe object whose metadata contains the ids of one of our calls. Only a list that was
// read to its end proves that there is none. Stripe's search is not used, because its index lags
// behind: docs/decisions/0028-absence-needs-proof.md.
import type { Outcome, Unknown } from '../../domain/operations/outcome.ts'
import { showId } from '../../domain/resource-id.ts'
import { fitText, isJson, type Json } from '../provider-text.ts'
import { type CallDescription, unknown } from '../call-outcomes.ts'
import { withinTimeLimit } from '../deadline.ts'
import { describeFailure, type Connection } from './connection.ts'
import { isMissing, wasSent } from './errors.ts'
import type { IsMatch, ListReading } from './lists/pages.ts'

export interface Search {
  readonly resource: 'payment_intents' | 'refunds'
  /** Metadata of which the object has every entry, and of which other objects have none. */
  readonly names: Readonly<Record<string, string>> & { readonly atomic_operation: string }
  /** Its id at Stripe, when an event or an operator has named one. */
  readonly id: string | null
  readonly retrieve: (id: string) => Promise<unknown>
  /** Reads a list that contains the object, if there is one. */
  readonly list: (isMatch: IsMatch) => Promise<Listing>
}

interface Listing extends ListReading {
  /** The filters of the list, for the description of the call. */
  readonly filters: Readonly<Record<string, string | number>>
}

/**
 * Decides what the object that was found proves. `listed`: the number of objects that were
 * searched.
 */
export type Explain<Value> = (
  object: Json,
  asked: CallDescription,
  listed: Listed,
) => Outcome<Value>
export type Listed = Readonly<{ listed?: number }>

/**
 * The outcome of the call: explained by its object; `not_executed` when there is none; `unknown`
 * when there are several objects, or when the lookup failed.
 */
export async function findOne<Value>(
  connection: Connection,
  search: Search,
  explain: Explain<Value>,
): Promise<Outcome<Value>> {
  const { id } = search
  const outcome = id === null ? undefined : await retrieveNamed(connection, search, id, explain)
  return outcome ?? (await findInList(search, explain))
}

/**
 * Undefined when the object does not exist or belongs to another call: the named id may be wrong.
 */
async function retrieveNamed<Value>(
  connection: Connection,
  { resource, names, retrieve }: Search,
  id: string,
  explain: Explain<Value>,
): Promise<Outcome<Value> | undefined> {
  const asked = { call: `${resource}.retrieve`, id }
  try {
    const object = await withinTimeLimit(connection, () => retrieve(id))
    const isIt = isJson(object) && object['id'] === id && hasIds(object, names) === 'all'
    return isIt ? explain(object, asked, {}) : undefined
  } catch (error) {
    return isMissing(error) ? undefined : unclear(error, asked)
  }
}

async function findInList<Value>(
  { resource, names, list }: Search,
  explain: Explain<Value>,
): Promise<Outcome<Value>> {
  const listing = await list((object) => hasIds(object, names) !== 'none')
  const { filters, found, listed } = listing
  const operation_id = showId('op', names.atomic_operation)
  const asked = { call: `${resource}.list`, ...filters, operation_id }
  if ('failure' in listing) return unclear(listing.failure, asked, { listed })
  const [object, ...others] = found
  if (object === undefined) return absent(asked, listed)
  if (others.length > 0) return ambiguous(asked, listed, found)
  if (hasIds(object, names) === 'all') return explain(object, asked, { listed })
  return unknown(
    asked,
    { listed, found: idsOf(found) },
    'the object has ids of other calls as well',
  )
}

/**
 * Stripe's types allow null as the metadata of a refund that another client made.
 *
 * @throws Error when the object has no such member, which Stripe always sends.
 */
function hasIds({ id, metadata }: Json, names: Search['names']): 'all' | 'some' | 'none' {
  if (metadata === null) return 'none'
  if (!isJson(metadata)) throw new Error(`${String(id)} has no metadata`)
  const entries = Object.entries(names)
  const matches = entries.filter(([name, value]) => metadata[name] === value).length
  if (matches === entries.length) return 'all'
  return matches === 0 ? 'none' : 'some'
}

function absent(asked: CallDescription, listed: number) {
  const reason = `none of ${listed} objects in a complete list belongs to this call`
  return { outcome: 'not_executed', reason, asked, answered: { listed } } as const
}

function ambiguous(asked: CallDescription, listed: number, found: readonly Json[]): Unknown {
  const answered = { listed, found: idsOf(found) }
  return unknown(asked, answered, `${found.length} objects were found instead of one`)
}

const IDS_SHOWN_MAX = 10

function idsOf(found: readonly Json[]): string[] {
  return found.slice(0, IDS_SHOWN_MAX).map(({ id }) => fitText(String(id)))
}

/**
 * The outcome of a failed lookup: `unknown`, because it proves nothing about the call. `looked:
 * false` distinguishes it from a lookup that found something implausible.
 */
export function unclear(error: unknown, asked: CallDescription, listed: Listed = {}): Unknown {
  const failed = describeFailure(error, asked)
  const reason = failed.outcome === 'declined' ? failed.failure.message : failed.reason
  const looked = unknown(asked, { ...failed.answered, ...listed, looked: false }, reason)
  return wasSent(error) ? looked : { ...looked, notSent: true }
}
