// Defines a fault: the points it applies to, how it is injected, and what it needs.
import type { Lane } from './lane.ts'
import type { Merchant } from './merchant.ts'
import type { Point } from './points.ts'
import type { Violation } from './results.ts'
import type { Action } from './watch.ts'

/** What a fault can use while it is injected. */
export interface FaultContext {
  readonly lane: Lane
  readonly merchant: Merchant
  /** Makes the run wait for work that the fault began, and collects the violations it found. */
  readonly trackWork: (work: Promise<readonly Violation[]>) => void
  /** Reports how long it took until new payments succeeded after PostgreSQL was back. */
  readonly reportReturn: (ms: number) => void
  /** Reports that the fault reached its point but had no effect there. */
  readonly reportMissed: () => void
  /** Whether several operations may be in progress. */
  readonly isConcurrent: boolean
}

export interface Fault {
  readonly name: string
  readonly appliesAt: (point: Point) => boolean
  /** Called while the message of the point is held back. */
  readonly inject: (context: FaultContext, point: Point) => Action
  /** Whether it ends a process, so that a new one has to start. */
  readonly kills?: true
  /** Whether it affects the server, so that the lane needs a server to itself. */
  readonly affectsServer?: true
  /**
   * Whether it is a contest for an operation, which must be the only one of its tenant in progress.
   */
  readonly contests?: true
  /** Whether it needs a server with a standby, in the scenario that has one. */
  readonly needsStandby?: true
  /** Whether it happens to the server of an extra, in a scenario that has one. */
  readonly needsExtraServer?: true
  /** Whether it needs a disk that can be filled, which not every machine provides. */
  readonly needsDisk?: true
}
