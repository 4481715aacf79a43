// The shape of an operation: a table of atomic phases. A phase names at most one provider call, and its
// `record` says what to write; it reads and writes nothing itself. So neither a second provider call in
// a phase nor a provider call inside a transaction can be written.
import type { Transaction } from '../db/connection/client.ts'
import type { ResourceChange, Writes } from '../db/operations/phase-records.ts'
import type { FeeSchedule } from '../domain/ledger/ledger.ts'
import type { FinalOutcome } from '../domain/operations/outcome.ts'
import type { FinalAnswer } from '../domain/operations/stored-response.ts'
import type { Payment } from '../domain/payments/payment.ts'
import type { Refund } from '../domain/payments/refund.ts'
import type { Standing } from '../domain/payments/standing.ts'
import type { CallName, CallRequest, CallValue } from '../provider/payment-provider.ts'

/** Where a phase leads: the next recovery point, or the end and its answer, and what is written with it. */
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

/** Makes the provider call of that name. The subject of the operation is the request of the call. */
interface CallPhase<Point extends string, Subject, Name extends CallName> {
  readonly call: Name
  record(
    subject: Subject,
    outcome: FinalOutcome<CallValue<Name>>,
    fees: FeeSchedule,
  ): Step<Point, Subject>
}

/** Reads where the payment stands at the provider, and executes nothing there. */
interface LookPhase<Point extends string, Subject> {
  readonly call: 'retrieve'
  record(subject: Subject, outcome: FinalOutcome<Standing>, fees: FeeSchedule): Step<Point, Subject>
}

/**
 * A phase without a provider call. The statement of the phase before records it too, so that it costs no
 * commit; it runs by itself only where an earlier version has left an operation there.
 */
interface LocalPhase<Point extends string, Subject> {
  readonly call?: undefined
  record(subject: Subject): Step<Point, Subject, ResourceChange>
}

/** The calls whose request the subject is. */
type CallPhases<Point extends string, Subject> = {
  [Name in CallName as Subject extends CallRequest<Name> ? Name : never]: CallPhase<
    Point,
    Subject,
    Name
  >
}

type Phase<Point extends string, Subject> =
  | CallPhases<Point, Subject>[keyof CallPhases<Point, Subject>]
  | LookPhase<Point, Subject>
  | LocalPhase<Point, Subject>

/** What is read of an operation's row when it is claimed, or reopened. */
export interface OperationInput {
  readonly payment: Payment
  readonly refund: Refund | null
  readonly parameters: Readonly<Record<string, unknown>>
}

/** The transaction that changes the status of a resource, and the client's key, which events name. */
export interface Marking {
  readonly tx: Transaction
  readonly key: string
}

export type Mark<Subject> = (marking: Marking, subject: Subject) => Promise<unknown>

/** The resource that an operation works on, and how it is marked when the engine cannot go on by itself. */
export interface OperationResource<Subject> {
  /** What the phases work on. */
  readonly subject: (input: OperationInput) => Subject
  /** The provider call may have run; the outcome resolver finds out. */
  readonly markUnknown: Mark<Subject>
  /** It is proved that the provider did nothing in the phase; the client's next retry goes on. */
  readonly markFailed: Mark<Subject>
  /** An unknown outcome is known, or is about to be: the operation works on its resource again. */
  readonly markResumed: Mark<Subject>
  /** The client has retried a failed operation. Throws StaleResourceError when it is too late for that. */
  readonly markReopened: Mark<Subject>
}

/** A phase as the engine runs it, whatever its call and its subject are. */
export interface AnyPhase {
  readonly call?: CallName | 'retrieve' | undefined
  record(
    subject: unknown,
    outcome?: FinalOutcome<unknown>,
    fees?: FeeSchedule,
  ): Step<string, unknown>
}

export interface Operation extends OperationResource<unknown> {
  readonly name: string
  readonly phases: Readonly<Record<string, AnyPhase>>
}

/**
 * Defines an operation by its phase table: one row for each recovery point, `started` first. A
 * recovery point that `advanceTo` names and the table lacks does not compile; neither does a provider call
 * whose request the subject is not.
 */
export function defineOperation<
  Subject,
  Point extends string,
  Resource extends OperationResource<Subject>,
>(
  name: string,
  phases: { readonly [Name in Point | 'started']: Phase<Point, Subject> },
  resource: Resource & OperationResource<Subject>,
): Operation & Omit<Resource, keyof Operation> {
  // The engine hands each phase the subject that its own operation has made.
  return { name, phases, ...resource } as unknown as Operation & Omit<Resource, keyof Operation>
}
