// What a program says when it ends, and whether it may: a client hears the answer to its request.
import type { Automaton } from '../programs/automaton.ts'
import { ownerOf } from '../programs/ids.ts'
import type { Database } from '../store/database.ts'
import { inWords } from '../store/rows.ts'
import type { Instance } from './instance.ts'
import type { Parts } from './parts.ts'
import { AMOUNT_MINOR, REFUND_MINOR } from './space.ts'
import { MISUSE, rowOfKey } from './starts.ts'
import type { Effect } from './effect.ts'
import { CONNECTION_LOST } from '../store/store-errors.ts'
import { hearAnswer } from './told.ts'

export interface Heard {
  readonly told: number
  readonly broken: readonly string[]
}

const NONE: readonly string[] = []

export class Hearing {
  readonly #automaton: Automaton
  readonly #parts: Parts
  readonly #known = new Map<string, Heard>()

  constructor(automaton: Automaton, parts: Parts) {
    this.#automaton = automaton
    this.#parts = parts
  }

  /** @param told what clients were told before. */
  hear(told: number, { kind, key, snapshot }: Instance, { ended, database }: Effect): Heard {
    if (ended === undefined) return { told, broken: NONE }
    if (ended.error !== undefined) return { told, broken: judgeError(kind, ended.error) }
    if (kind !== 'send') return { told, broken: NONE }
    const name = `${told} ${database} ${snapshot} ${ended.id} ${key}`
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const { tolds, databases } = this.#parts
    const value = databases.valueOf(database)
    const heard = hearAnswer(tolds.valueOf(told), {
      key,
      isShort: minorOfOthers(value, key) + REFUND_MINOR > AMOUNT_MINOR,
      isMisuse: this.#automaton.nameOf(ended).startsWith(MISUSE),
      answer: ended.value,
      row: rowOfKey(value, key),
      seen: snapshot < 0 ? undefined : rowOfKey(databases.valueOf(snapshot), key),
    })
    const found = { told: tolds.idOf(heard.told), broken: heard.broken }
    this.#known.set(name, found)
    return found
  }
}

/** What other keys have asked to be refunded. */
function minorOfOthers({ refunds = [] }: Database, key: number): number {
  return refunds
    .filter(({ id }) => ownerOf(inWords(id)).key !== key)
    .reduce((sum, row) => sum + Number(row['amount_minor']), 0)
}

/** Maintenance that has lost its connection is done again at its next time. */
function judgeError(kind: string, error: string): readonly string[] {
  return error.includes(CONNECTION_LOST) ? NONE : [`bug: ${kind} ends with ${error}`]
}
