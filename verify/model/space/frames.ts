// Checks the frame condition: keys do not affect each other. The results for one key extend to
// several keys if every statement treats the rows of a key as it does without other keys, and
// leaves the rows of other keys alone. So each statement is executed again next to the rows of two
// other keys, taken from stores that were reached.
import { showId } from '../../../src/domain/resource-id.ts'
import {
  hashOfKey,
  MODEL_ID_PREFIX,
  nameOfKey,
  operationIdOf,
  paymentIdOf,
} from '../programs/ids.ts'
import { type Database, jsonOf, type Row, type Work } from '../store/rows.ts'
import type { ExecutionResult } from '../store/memory-store.ts'
import { keyOfRow, type Schema, tableNamed } from '../store/schema.ts'
import { canonicalRow } from './canonical.ts'
import type { Interner } from './state.ts'

/** Tables that all keys share: the tenant and the queues. */
const COMMON_TABLES = new Set(['tenants', 'atomic_jobs.queue'])

/** The keys next to the one that is explored. */
const OTHER_KEYS = [1, 2]
/** Select a different store for each of these keys, and for each explored store. */
const STRIDES = [7_919, 104_729]

export class Frames {
  readonly #schema: Schema
  readonly #databases: Interner<Database>
  readonly #renamedStores = new Map<string, Database>()
  /** Number of statements that were executed again next to other keys. */
  checked = 0

  constructor(schema: Schema, databases: Interner<Database>) {
    this.#schema = schema
    this.#databases = databases
  }

  /**
   * Returns the violations of the frame condition by a statement.
   *
   * @param isAboutOneKey whether the statement concerns one key, not all keys.
   * @param execute executes the statement on another store.
   * @param alone the result without other keys.
   */
  check(
    database: number,
    isAboutOneKey: boolean,
    execute: (database: Database) => ExecutionResult,
    alone: ExecutionResult,
  ): string[] {
    this.checked += 1
    const own = this.#databases.valueOf(database)
    const frame = this.#frameFor(database)
    const together = execute(this.#merge(own, frame))
    if (together.kind !== alone.kind)
      return [`keys: next to other keys the statement is ${together.kind}`]
    if (together.kind === 'error' && alone.kind === 'error') {
      const isSame = together.code === alone.code
      return isSame ? [] : [`keys: next to other keys the error is ${together.code}`]
    }
    if (together.kind !== 'result' || alone.kind !== 'result') return []
    const changed = this.#changesOf(together.work)
    const ownChanges = changed.filter((text) => !namesOtherKey(text))
    if (jsonOf(ownChanges) !== jsonOf(this.#changesOf(alone.work))) {
      return ['keys: next to other keys the statement changes other values']
    }
    if (isAboutOneKey) {
      const isSame = jsonOf(together.result) === jsonOf(alone.result)
      if (!isSame) return ['keys: next to other keys the statement finds other values']
      if (together.work.locks.some(({ key }) => namesOtherKey(key))) {
        return ['keys: the statement locks a row of another key']
      }
      return ownChanges.length === changed.length
        ? []
        : ['keys: the statement changes rows of another key']
    }
    const frameAlone = execute(this.#merge(this.#withoutKeys(own), frame))
    if (frameAlone.kind !== 'result')
      return [`keys: for the other keys alone the statement is ${frameAlone.kind}`]
    const otherChanges = changed.filter((text) => namesOtherKey(text))
    const isSame = jsonOf(otherChanges) === jsonOf(this.#changesOf(frameAlone.work))
    if (!isSame) return ['keys: the changes to all keys differ from the changes to each']
    const each = [...alone.result.rows, ...frameAlone.result.rows]
    const areSame = jsonOf(sortRows(together.result.rows)) === jsonOf(sortRows(each))
    return areSame ? [] : ['keys: the rows of all keys differ from the rows of each']
  }

  /** Without ids that the store generates: they are numbered in the order of execution. */
  #changesOf({ changes }: Work): string[] {
    return changes
      .map(({ table, key, row }) => {
        if (row === null) return `${table} ${key}`
        const canonical = canonicalRow(table, row) ?? row
        return `${table} ${jsonOf({ ...canonical, job_id: null, ...withoutJobId(table) })}`
      })
      .toSorted()
  }

  #frameFor(database: number): Database {
    const stores = OTHER_KEYS.map((key, index) => {
      const place = (database * 31 + (STRIDES[index] ?? 1)) % this.#databases.size
      return this.#storeOfKey(place, key)
    })
    return stores.reduce((one, other) => this.#merge(one, other))
  }

  #storeOfKey(database: number, key: number): Database {
    const name = `${database} ${key}`
    const cached = this.#renamedStores.get(name)
    if (cached !== undefined) return cached
    const renamed = renameKey(this.#databases.valueOf(database), key)
    this.#renamedStores.set(name, renamed)
    return renamed
  }

  #withoutKeys(database: Database): Database {
    const tables = Object.entries(database).map(([table, rows]) => [
      table,
      COMMON_TABLES.has(table) ? rows : [],
    ])
    return Object.fromEntries(tables) as Database
  }

  #merge(one: Database, other: Database): Database {
    const tables = Object.entries(one).map(([name, rows]) => {
      if (COMMON_TABLES.has(name)) return [name, rows]
      const table = tableNamed(this.#schema, name)
      const all = [...rows, ...(other[name] ?? [])]
      const keyOf = (row: Row) => keyOfRow(table, row)
      return [name, all.toSorted((first, second) => (keyOf(first) < keyOf(second) ? -1 : 1))]
    })
    return Object.fromEntries(tables) as Database
  }
}

const sortRows = (rows: readonly Row[]): string[] => rows.map(jsonOf).toSorted()

/** The store generates the ids of jobs. */
const withoutJobId = (table: string): Row => (table === 'atomic_jobs.job' ? { id: null } : {})

const OTHER_KEY_ID = new RegExp(`${MODEL_ID_PREFIX}0[1-3]-0{8}\\d[12]\\d\\d`)

/** Whether a text names something that belongs to one of the other keys. */
const namesOtherKey = (text: string): boolean => OTHER_KEY_ID.test(text)

/** The lives that a key can have. */
const LIVES = [1, 2, 3]

/** The rows of the explored key, and of what its cancellation began, renamed to another key. */
function renameKey(database: Database, key: number): Database {
  const [hash = '', otherHash = ''] = [0, key].map((one) => hashOfKey(nameOfKey(one)).slice(2))
  const text = JSON.stringify(database)
    .replaceAll(new RegExp(`(${MODEL_ID_PREFIX}0[1-3]-0{8}\\d)0(\\d\\d)`, 'g'), `$1${key}$2`)
    .replaceAll(/\b(pi|re)_(\d)0(\d\d)_/g, `$1_$2${key}$3_`)
    .replaceAll(nameOfKey(0), nameOfKey(key))
    .replaceAll(hash, otherHash)
  return JSON.parse(
    LIVES.reduce((renamed, life) => renamePublicIds(renamed, key, life), text),
  ) as Database
}

/** Renames the ids as findings and answers render them. */
function renamePublicIds(text: string, key: number, life: number): string {
  const [own, other] = [0, key].map((one) => showId('op', operationIdOf(one, life)))
  const [payment, otherPayment] = [0, key].map((one) => showId('pay', paymentIdOf(one, life)))
  return text.replaceAll(own ?? '', other ?? '').replaceAll(payment ?? '', otherPayment ?? '')
}
