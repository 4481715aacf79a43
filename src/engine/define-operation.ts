// Defines the shape of an operation: a table of atomic phases. A phase names at most one provider
// call, and its `record` function returns what to write, without any I/O of its own. So neither a
// second provider call in a phase nor a provider call inside a transaction can be expressed.
import type { Transaction } from '../db/connection/client.ts'
import type { ResourceChange, Writes } from '../db/operations/record-phases.ts'
import type { FeeSchedule } from '../domain/ledger/ledger.ts'
import type { FinalOutcome } from '../domain/operations/outcome.ts'
import type { FinalAnswer } from '../domain/operations/stored-response.ts'
import type { Payment } from '../domain/payments/payment.ts'
import type { Dispute, DisputeProviderStatus } from '../domain/payments/dispute.ts'
import type { Refund, RefundProviderStatus } from '../domain/payments/refund.ts'
import type { ProviderStatus } from '../domain/payments/provider-status.ts'
import type { CallName, CallRequest, CallValue } from '../provider/calls.ts'
import type { PhaseRead, PhaseCall } from './phase-call.ts'

/** The next recovery point of a phase, or its final answer, together with the writes. */
export type Step<Point extends string, Subject, Written extends Writes = Writes> = {
  readonly writes: Written
} & (
  | { readonly kind: 'advance'; readonly to: Point; readonly subject: Subject }
  | { readonly kind: 'finish'; readonly answer: FinalAnswer }
)

/** @param subject the object on which the next phase works. */
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

/**
 * A phase with the provider call of this name. The subject of the operation is the request of the
 * call.
 */
interface CallPhase<Point extends string, Subject, Name extends CallName> {
  readonly call: Name
  record(
    subject: Subject,
    outcome: FinalOutcome<CallValue<Name>>,
    fees: FeeSchedule,
  ): Step<Point, Subject>
  /**
   * Where the operation goes on when it is proved that no try of the call was executed, now or
   * before. Undefined: the call is tried again later, as without this function.
   */
  elsewhere?(subject: Subject): Step<Point, Subject> | undefined
}

/** What each read finds. */
interface ReadValues {
  readonly retrieve: ProviderStatus
  readonly retrieveRefund: RefundProviderStatus
  readonly retrieveDispute: DisputeProviderStatus
}

/** A phase that reads where its object stands at the provider, and executes nothing there. */
interface ReadPhase<Point extends string, Subject, Name extends PhaseRead> {
  readonly call: Name
  record(
    subject: Subject,
    outcome: FinalOutcome<ReadValues[Name]>,
    fees: FeeSchedule,
  ): Step<Point, Subject>
}

/**
 * A phase without a provider call. It is recorded with the phase before, so it costs no commit. It runs by
 * itself after a phase that announces or stores, or where an earlier version left an operation.
 */
interface LocalPhase<Point extends string, Subject> {
  readonly call?: undefined
  record(subject: Subject): Step<Point, Subject, ResourceChange>
}

/** The provider calls whose request type matches the subject. */
type CallPhases<Point extends string, Subject> = {
  [Name in CallName as Subject extends CallRequest<Name> ? Name : never]: CallPhase<
    Point,
    Subject,
    Name
  >
}

type Phase<Point extends string, Subject> =
  | CallPhases<Point, Subject>[keyof CallPhases<Point, Subject>]
  | ReadPhase<Point, Subject, 'retrieve'>
  | ReadPhase<Point, Subject, 'retrieveRefund'>
  | ReadPhase<Point, Subject, 'retrieveDispute'>
  | LocalPhase<Point, Subject>

/** The part of an operation's row that is read when the operation is claimed or reopened. */
export interface OperationInput {
  readonly payment: Payment
  readonly refund: Refund | null
  readonly dispute: Dispute | null
  /** When the request was accepted: the same time in each try. */
  readonly createdAt: Date
  readonly parameters: Readonly<Record<string, unknown>>
}

/**
 * The transaction that marks a resource, and the client's idempotency key, which events contain.
 */
export interface Marking {
  readonly tx: Transaction
  readonly key: string
}

export type Mark<Subject> = (marking: Marking, subject: Subject) => Promise<unknown>

/** The resource of an operation, and how it is marked when the engine cannot continue by itself. */
export interface OperationResource<Subject> {
  /** Returns the object on which the phases work. */
  readonly subject: (input: OperationInput) => Subject
  /** The provider call may have been executed; the outcome resolver finds out. */
  readonly markUnknown: Mark<Subject>
  /**
   * Nothing happened in this phase; the client's next retry continues. What began with the operation has
   * failed; an older payment gets back its status.
   */
  readonly markGivenUp: Mark<Subject>
  /** The client canceled the operation before any call; nothing happens under its key any more. */
  readonly markCanceled: Mark<Subject>
  /** An unknown outcome is known, or is about to be; the operation works on its resource again. */
  readonly markResumed: Mark<Subject>
  /** The client retried a failed operation. Throws StaleResourceError when it is too late. */
  readonly markReopened: Mark<Subject>
}

/** A phase with its types erased, as the engine runs it. */
interface AnyPhase {
  readonly call?: PhaseCall | undefined
  record(
    subject: unknown,
    outcome?: FinalOutcome<unknown>,
    fees?: FeeSchedule,
  ): Step<string, unknown>
  elsewhere?(subject: unknown): Step<string, unknown> | undefined
}

export interface Operation extends OperationResource<unknown> {
  readonly name: string
  readonly phases: Readonly<Record<string, AnyPhase>>
}

/**
 * Defines an operation by its phase table: one row for each recovery point, `started` first. It
 * does not compile if `advanceTo` names a recovery point that the table lacks, or if the subject is
 * not the request of a named provider call.
 */
export function defineOperation<
  Subject,
  Point extends string,
  const Resource extends OperationResource<Subject>,
>(
  name: string,
  phases: { readonly [Name in Point | 'started']: Phase<Point, Subject> },
  resource: Resource & OperationResource<Subject>,
): Operation & Omit<Resource, keyof Operation> {
  // Safe: the engine passes each phase the subject that its own operation created.
  return { name, phases, ...resource } as unknown as Operation & Omit<Resource, keyof Operation>
}
