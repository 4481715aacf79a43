// The shape of an operation: a table of atomic phases. A phase's `call` gets the provider and never the
// store, its `record` gets neither: it says what is to be written, so that neither a second foreign call
// in a phase nor a foreign call inside a transaction can be written. Its `find` tells what a call has come
// to whose answer was lost; it looks, and executes nothing.
import type { Transaction } from '../db/client.ts'
import type { ResourceChange, Writes } from '../db/phase-records.ts'
import type { FeeSchedule } from '../domain/ledger/ledger.ts'
import type { Outcome, Settled } from '../domain/operations/outcome.ts'
import type { Payment } from '../domain/payments/payment.ts'
import type { Refund } from '../domain/payments/refund.ts'
import type { FinalAnswer } from '../domain/operations/stored-response.ts'
import type { CallIdentity, PaymentProvider, Trace } from '../provider/payment-provider.ts'

/** What a phase comes to: the next recovery point, or the end and its answer, and what is written with it. */
export type Step<Point extends string, Subject, Written extends Writes = Writes> = {
  readonly writes: Written
} & (
  | { readonly kind: 'advance'; readonly to: Point; readonly subject: Subject }
  | { readonly kind: 'finish'; readonly answer: FinalAnswer }
)

/** @param subject what the next phase works on. */
export function advanceTo<const Point extends string, Subject>(
  to: Point,
  subject: Subject,
  writes: Writes,
): Step<Point, Subject> {
  return { kind: 'advance', to, subject, writes }
}

export function finish<const Written extends Writes>(
  answer: FinalAnswer,
  writes: Written,
): Step<never, never, Written> {
  return { kind: 'finish', answer, writes }
}

/** The transaction that changes what a resource shows, and the client's key, which events name. */
export interface Recording {
  readonly tx: Transaction
  readonly key: string
}

interface CallPhase<Point extends string, Subject, Value> {
  call(provider: PaymentProvider, subject: Subject, identity: CallIdentity): Promise<Outcome<Value>>
  find(provider: PaymentProvider, subject: Subject, trace: Trace): Promise<Outcome<Value>>
  record(subject: Subject, settled: Settled<Value>, fees: FeeSchedule): Step<Point, Subject>
}

/**
 * A phase that calls nobody is recorded by the statement of the phase before, without a commit of its own; it
 * is begun by itself only where an earlier version has left an operation there.
 */
interface QuietPhase<Point extends string, Subject> {
  readonly call?: undefined
  readonly find?: undefined
  record(subject: Subject): Step<Point, Subject, ResourceChange>
}

type Phase<Point extends string, Subject, Value> =
  | CallPhase<Point, Subject, Value>
  | QuietPhase<Point, Subject>

/** What is read of an operation's row when it is claimed, or reopened. */
export interface OperationInput {
  readonly payment: Payment
  readonly refund: Refund | null
  readonly parameters: Readonly<Record<string, unknown>>
}

/** What an operation is about, and what its resource shows when the engine cannot go on by itself. */
export interface Surroundings<Subject> {
  /** What the phases work on. */
  subject(input: OperationInput): Subject
  /** The foreign call may have run; the reconciler will find out. */
  unknown(recording: Recording, subject: Subject): Promise<unknown>
  /** It is proved that nothing foreign happened in the phase; the client's next retry goes on. */
  failed(recording: Recording, subject: Subject): Promise<unknown>
  /** What was unknown is known, or is about to be: the operation works on its resource again. */
  resumed(recording: Recording, subject: Subject): Promise<unknown>
  /** The client has retried what had failed. Throws StaleResourceError when it is too late for that. */
  reopened(recording: Recording, subject: Subject): Promise<unknown>
}

export interface Operation extends Surroundings<unknown> {
  readonly name: string
  readonly phases: Readonly<Record<string, Phase<string, unknown, unknown>>>
}

/**
 * Defines an operation by its phase table: one row for each recovery point, `started` first. A
 * recovery point that `advanceTo` names and the table lacks does not compile.
 */
export function defineOperation<Subject, Values extends { started: unknown }>(
  name: string,
  phases: {
    readonly [Point in keyof Values]: Phase<keyof Values & string, Subject, Values[Point]>
  },
  surroundings: Surroundings<Subject>,
): Operation {
  return { name, phases, ...(surroundings as Surroundings<unknown>) }
}
