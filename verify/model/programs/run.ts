// Runs a program step by step: the real functions of the product, over a store and a provider that
// take each answer from the caller of `answer`.
import { setImmediate as turn } from 'node:timers/promises'
import { built, isTemplate, renderStatement, Template } from '../../statements/record-statements.ts'
import type { Row, Value } from '../store/rows.ts'
import {
  connectionLost,
  decodeBytes,
  IN_FAILED_TRANSACTION,
  isObject,
  postgresError,
} from '../store/rows.ts'
import type { Sql } from '../../../src/db/connection/client.ts'
import { isConnectionBroken } from '../../../src/db/connection/store-errors.ts'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import { SECOND_PROVIDER, Symbols } from './ids.ts'
import { type Answer, type CallRequest, providerOf, type Request } from './requests.ts'
import { LEASE_SECONDS } from './settings.ts'

/** The statement on one line, and the values of its parameters as the model stores them. */
function statementOf(template: Template): { text: string; parameters: Value[] } {
  const { text, parameters } = renderStatement(template)
  const line = text
    .replaceAll(/--[^\n]*/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return { text: line, parameters: parameters.map(plain) }
}

function plain(value: unknown): Value {
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  if (value instanceof Date) return value.toISOString()
  if (value === undefined) throw new Error('a parameter is undefined')
  return value as Value
}

/** What a program can access. */
export interface Environment {
  readonly sql: Sql
  readonly provider: PaymentProvider
  /** The provider of the fallback of a payment. */
  readonly secondProvider: PaymentProvider
  /** The monotonic clock of the process, in milliseconds. */
  readonly now: () => number
  /** Receives the result of a member of the program: how its job ended, or its request's answer. */
  readonly finish: (member: number, result: Value) => void
  /** Receives errors that must not occur, also those that the product only logs. */
  readonly reportUnexpected: (error: unknown, what: string) => void
}

export interface MemberResult {
  readonly member: number
  readonly result: Value
}

/** How a program ended. */
interface Ending {
  readonly error: Error | undefined
}

interface PendingRequest {
  readonly request: Request
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
}

/** A transaction that the program began. */
class OpenTransaction {
  readonly id: number
  /** Rejects when its connection is lost. */
  readonly lost = Promise.withResolvers<never>()
  /** Whether a statement has failed. The later ones fail because of it. */
  hasFailed = false
  /** Whether it may send no further statement. */
  isOver = false

  constructor(id: number) {
    this.id = id
    this.lost.promise.catch(() => {})
  }
}

/** Rejects the pending requests of an abandoned run. */
class Abandoned extends Error {
  override name = 'Abandoned'
}

/**
 * Fails a program that makes no request and does not end within this many turns of the event loop;
 * without a limit the checker would wait forever.
 */
const EVENT_LOOP_TURNS_MAX = 2_000

export class Run {
  readonly unexpectedErrors: string[] = []
  /** In the order in which the members ended. */
  readonly results: MemberResult[] = []
  ending: Ending | undefined
  readonly #pendingRequests: PendingRequest[] = []
  /** Answers to provider calls that wait for the answers to the concurrent ones. */
  readonly #undelivered: (() => void)[] = []
  readonly #symbols = new Symbols()
  #transactions = 0
  /** The transaction that received the last answer and is still open. */
  #openTransaction: number | undefined
  #isAbandoned = false
  #nowMs = 0

  constructor(program: (environment: Environment) => Promise<unknown>) {
    const environment = {
      sql: Object.assign(this.#tag(), { begin: (work: Work) => this.#begin(work) }) as never,
      provider: providerOf('stripe', (request) => this.#ask(request)),
      secondProvider: providerOf(SECOND_PROVIDER, (request) => this.#ask(request)),
      now: () => this.#nowMs,
      finish: (member: number, result: Value) =>
        void this.results.push({ member, result: this.#symbols.toModel(result) }),
      reportUnexpected: (error: unknown, what: string) => this.#reportUnexpected(error, what),
    }
    void program(environment).then(
      () => (this.ending = { error: undefined }),
      (error: unknown) => (this.ending = { error: error as Error }),
    )
  }

  /**
   * The next request to answer. Of several concurrent requests it is the first one of the open
   * transaction, otherwise the first one: two transactions of one program would wait for each
   * other's locks.
   */
  get pending(): Request | undefined {
    return this.#pendingRequests[this.#pendingIndex]?.request
  }

  /** The provider calls that it waits for, at the same time. */
  get calls(): readonly CallRequest[] {
    return this.#pendingRequests.flatMap(({ request }) => (request.kind === 'call' ? request : []))
  }

  get #pendingIndex(): number {
    const own = this.#pendingRequests.findIndex(({ request }) =>
      belongsTo(request, this.#openTransaction),
    )
    return Math.max(0, own)
  }

  /**
   * Runs the program until its next request or its end. Its members may make requests of their own:
   * a batch starts at the end of a turn of the event loop, so they all wait when a turn brings none.
   */
  async runUntilPending(): Promise<void> {
    let before = 0
    for (let turns = 0; turns < EVENT_LOOP_TURNS_MAX; turns += 1) {
      await turn()
      const { length } = this.#pendingRequests
      if (this.ending !== undefined || (length > 0 && length === before)) return
      before = length
    }
    throw new Error('a program makes no request and does not end')
  }

  /**
   * Answers the pending request. Concurrent provider calls return together, so that what they found
   * is recorded in one batch.
   */
  async answer(answer: Answer): Promise<void> {
    const [next] = this.#pendingRequests.splice(this.#pendingIndex, 1)
    if (next === undefined) throw new Error('no request is pending')
    const isOpen = answer.kind === 'rows' || answer.kind === 'error'
    this.#openTransaction = isOpen ? transactionOf(next.request) : undefined
    if (answer.late === true) this.#nowMs += LEASE_SECONDS * 1_000
    this.#undelivered.push(() => next.resolve(answer))
    const isCall = ({ request }: PendingRequest) => request.kind === 'call'
    if (isCall(next) && this.#pendingRequests.some(isCall)) return
    this.#deliver()
    if (answer.kind === 'connection_lost') this.#failQueued(next.request, connectionLost())
    if (answer.kind === 'error') this.#failQueued(next.request, inFailedTransaction())
    await this.runUntilPending()
  }

  #deliver(): void {
    for (const deliver of this.#undelivered.splice(0)) deliver()
  }

  /** Statements that the transaction sent together with a failed one fail as well. */
  #failQueued(request: Request, error: Error): void {
    const transaction = transactionOf(request)
    for (const queued of this.#pendingRequests.filter((pending) =>
      belongsTo(pending.request, transaction),
    )) {
      this.#pendingRequests.splice(this.#pendingRequests.indexOf(queued), 1)
      queued.reject(error)
    }
  }

  /** Stops the run and rejects its pending requests. */
  abandon(): void {
    this.#isAbandoned = true
    this.#deliver()
    for (const { reject } of this.#pendingRequests.splice(0)) reject(new Abandoned('abandoned'))
  }

  #ask(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#isAbandoned) reject(new Abandoned('abandoned'))
      else this.#pendingRequests.push({ request, resolve, reject })
    })
  }

  #reportUnexpected(error: unknown, what: string): void {
    if (error instanceof Abandoned) return
    this.unexpectedErrors.push(`${what}: ${error instanceof Error ? error.message : String(error)}`)
  }

  #tag(transaction?: OpenTransaction) {
    const execute = (template: Template) => this.#execute(template, transaction)
    return (
      strings: TemplateStringsArray | Parameters<typeof built>[0],
      ...values: unknown[]
    ): unknown =>
      isTemplate(strings) ? new Template([...strings], values, execute) : built(strings)
  }

  /** Like `Session.begin` of the product. */
  async #begin(work: Work): Promise<unknown> {
    const transaction = new OpenTransaction(this.#transactions)
    this.#transactions += 1
    const tx = Object.assign(this.#tag(transaction), { unsafe: setLocally })
    let result: unknown
    try {
      result = await Promise.race([work(tx), transaction.lost.promise])
    } catch (error) {
      transaction.isOver = true
      // After a lost connection there is nothing to roll back.
      if (isConnectionBroken(error)) throw error
      await this.#ask({ kind: 'rollback', transaction: transaction.id })
      throw error
    }
    transaction.isOver = true
    rowsOf(await this.#ask({ kind: 'commit', transaction: transaction.id }))
    if (transaction.hasFailed) throw new Error('a transaction went on after one of its errors')
    return result
  }

  async #execute(template: Template, transaction?: OpenTransaction): Promise<unknown> {
    if (transaction === undefined || transaction.isOver) {
      const error = new Error('a statement before or after its transaction')
      this.#reportUnexpected(error, 'a transaction')
      throw error
    }
    if (transaction.hasFailed) throw inFailedTransaction()
    const { text, parameters } = statementOf(template)
    const answer = await this.#ask({
      kind: 'statement',
      transaction: transaction.id,
      text,
      parameters: parameters.map((value) => this.#symbols.toModel(value)),
    })
    try {
      const { rows, count } = rowsOf(answer)
      const decoded = rows.map((row) => decodeRow(this.#symbols.fromModel(row) as Row))
      return Object.assign(decoded, { count })
    } catch (error) {
      transaction.hasFailed = true
      if (answer.kind === 'connection_lost') transaction.lost.reject(error)
      throw error
    }
  }
}

/** @throws the error of the driver. */
function rowsOf(answer: Answer): { readonly rows: readonly Row[]; readonly count: number } {
  if (answer.kind === 'connection_lost') throw connectionLost()
  if (answer.kind === 'error') throw postgresError(answer.code, answer.message, answer.constraint)
  if (answer.kind === 'outcome') throw new Error('expected rows')
  return answer.kind === 'rows' ? answer : { rows: [], count: 0 }
}

const inFailedTransaction = (): Error =>
  postgresError(IN_FAILED_TRANSACTION, 'a statement of the transaction has failed')

/** The tenants that a transaction sees are left out of the model, so this is no step. */
async function setLocally(text: string): Promise<never[]> {
  if (!text.startsWith('set local ')) throw new Error(`unexpected statement: ${text}`)
  return []
}

/** Undefined for a call. */
function transactionOf(request: Request): number | undefined {
  return request.kind === 'call' ? undefined : request.transaction
}

function belongsTo(request: Request, transaction: number | undefined): boolean {
  return transaction !== undefined && transactionOf(request) === transaction
}

type Work = (tx: unknown) => Promise<unknown>

/** The driver returns `bytea` columns as buffers. */
function decodeRow(row: Row): Record<string, unknown> {
  const entries = Object.entries(row).map(([name, value]) => [name, decodeValue(value)])
  return Object.fromEntries(entries) as Record<string, unknown>
}

const decodeValue = (value: Value): unknown => (isObject(value) ? { ...value } : decodeBytes(value))
