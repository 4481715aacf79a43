// Checks how a program ended: a client's answer, or an error.
import type { Automaton } from '../programs/automaton.ts'
import { ownerOf } from '../programs/ids.ts'
import type { Database } from '../store/database.ts'
import { toText } from '../store/rows.ts'
import type { Instance } from './instance.ts'
import type { SearchContext } from './search-context.ts'
import { AMOUNT_MINOR, REFUND_MINOR } from './space.ts'
import { MISUSE, rowOfKey } from './starts.ts'
import type { Effect } from './effect.ts'
import { CONNECTION_LOST } from '../store/store-errors.ts'
import { receiveAnswer } from './client-answers.ts'

export interface EndingResult {
  readonly refusals: number
  readonly violations: readonly string[]
}

const NO_VIOLATIONS: readonly string[] = []

export class EndingChecks {
  readonly #automaton: Automaton
  readonly #context: SearchContext
  readonly #results = new Map<string, EndingResult>()

  constructor(automaton: Automaton, context: SearchContext) {
    this.#automaton = automaton
    this.#context = context
  }

  /** @param refusals the refusals before. */
  check(
    refusals: number,
    { kind, key, snapshot }: Instance,
    { ended, database }: Effect,
  ): EndingResult {
    if (ended === undefined) return { refusals, violations: NO_VIOLATIONS }
    if (ended.error !== undefined) return { refusals, violations: checkError(kind, ended.error) }
    if (kind !== 'send') return { refusals, violations: NO_VIOLATIONS }
    const name = `${refusals} ${database} ${snapshot} ${ended.id} ${key}`
    const cached = this.#results.get(name)
    if (cached !== undefined) return cached
    const { refusalSets, databases } = this.#context
    const value = databases.valueOf(database)
    const received = receiveAnswer(refusalSets.valueOf(refusals), {
      key,
      mayExceedCapture: refundedByOthersMinor(value, key) + REFUND_MINOR > AMOUNT_MINOR,
      isMisuse: this.#automaton.nameOf(ended).startsWith(MISUSE),
      answer: ended.value,
      row: rowOfKey(value, key),
      rowAtSnapshot: snapshot < 0 ? undefined : rowOfKey(databases.valueOf(snapshot), key),
    })
    const result = {
      refusals: refusalSets.idOf(received.refusals),
      violations: received.violations,
    }
    this.#results.set(name, result)
    return result
  }
}

/** The amount that other keys requested to refund. */
function refundedByOthersMinor({ refunds = [] }: Database, key: number): number {
  return refunds
    .filter(({ id }) => ownerOf(toText(id)).key !== key)
    .reduce((sum, row) => sum + Number(row['amount_minor']), 0)
}

/**
 * A lost connection may end maintenance, because its next run repeats the work. No other error may.
 */
function checkError(kind: string, error: string): readonly string[] {
  return error.includes(CONNECTION_LOST) ? NO_VIOLATIONS : [`bug: ${kind} ends with ${error}`]
}
