// Looks for the objects of Stripe's that bear the ids of a call of ours in their metadata. Only a list that
// was read to its end proves that there are none; a list and never a search, which lags behind.
import type { Outcome, Unknown } from '../../domain/operations/outcome.ts'
import { fitText } from '../provider-text.ts'
import { describeFailure, withinTimeLimit, type Connection } from './connection.ts'
import { isMissing, unknown, type CallDescription } from './errors.ts'
import { isJson, type Json } from './json.ts'
import { pagesOf, type PageParameters } from './pages.ts'

export interface Search {
  readonly resource: 'payment_intents' | 'refunds'
  /** Metadata that the object has, all of it, and that nothing else has, any of it. */
  readonly names: Readonly<Record<string, string>>
  /** Its id at Stripe, when somebody has named one. */
  readonly id: string | null
  readonly retrieve: (id: string) => Promise<unknown>
  /** What the list is narrowed by. */
  readonly within: Readonly<Record<string, string | number>>
  readonly list: (page: PageParameters) => Promise<unknown>
}

/** Says what the one object that was found proves. `listed`: of how many it was found. */
export type Explain<Value> = (
  object: Json,
  asked: CallDescription,
  listed: Listed,
) => Outcome<Value>
export type Listed = Readonly<{ listed?: number }>

/**
 * What has become of the call: explained by its one object; `not_executed` when there is none; `unknown`
 * when there are several, or anything went wrong on the way.
 */
export async function findOne<Value>(
  connection: Connection,
  quest: Search,
  explain: Explain<Value>,
): Promise<Outcome<Value>> {
  const { id } = quest
  const named = id === null ? undefined : await retrieveNamed(connection, quest, id, explain)
  return named ?? (await findInList(connection, quest, explain))
}

/** Undefined when it is not there or not of this call: whoever named it may have been mistaken. */
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
  connection: Connection,
  { resource, names, within, list }: Search,
  explain: Explain<Value>,
): Promise<Outcome<Value>> {
  const asked = { call: `${resource}.list`, ...within, operation_id: names['atomic_operation'] }
  const found: Json[] = []
  let listed = 0
  try {
    for await (const page of pagesOf(connection, list)) {
      listed += page.length
      found.push(...page.filter((object) => hasIds(object, names) !== 'none'))
    }
  } catch (error) {
    return unclear(error, asked, { listed })
  }
  const [object, ...others] = found
  if (object === undefined) return absent(asked, listed)
  if (others.length > 0) return ambiguous(asked, listed, found)
  if (hasIds(object, names) === 'all') return explain(object, asked, { listed })
  return unknown(asked, { listed, found: idsOf(found) }, 'what was found bears other ids as well')
}

/** @throws Error when the object has no metadata, and so is none that Stripe sends. */
function hasIds({ id, metadata }: Json, names: Search['names']): 'all' | 'some' | 'none' {
  if (!isJson(metadata)) throw new Error(`${String(id)} has no metadata`)
  const wanted = Object.entries(names)
  const borne = wanted.filter(([name, value]) => metadata[name] === value).length
  if (borne === wanted.length) return 'all'
  return borne === 0 ? 'none' : 'some'
}

function absent(asked: CallDescription, listed: number) {
  const reason = `none of ${listed} objects, in a complete list, is of this call`
  return { outcome: 'not_executed', reason, asked, answered: { listed } } as const
}

function ambiguous(asked: CallDescription, listed: number, found: readonly Json[]): Unknown {
  const answered = { listed, found: idsOf(found) }
  return unknown(asked, answered, `${found.length} objects were found where one can be`)
}

const IDS_SHOWN_MAX = 10

function idsOf(found: readonly Json[]): string[] {
  return found.slice(0, IDS_SHOWN_MAX).map(({ id }) => fitText(String(id)))
}

/**
 * A look that fails, in whatever way, proves nothing of the call that is looked for. `looked` tells it
 * from one that has found what makes no sense.
 */
export function unclear(error: unknown, asked: CallDescription, listed: Listed = {}): Unknown {
  const failed = describeFailure(error, asked)
  const reason = failed.outcome === 'declined' ? failed.failure.message : failed.reason
  return unknown(asked, { ...failed.answered, ...listed, looked: false }, reason)
}
