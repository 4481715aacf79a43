// A mutant: the product with one rule removed, to prove that the suite detects it. Some rules have
// a second safeguard behind them, for example a constraint or a check of the provider. Such a
// mutant removes both, because without the rule alone nothing would break.
import type { Label } from '../case.ts'

/** Replaces a text that occurs exactly once in a file of the product. */
export interface Patch {
  /** Relative to the root of the repository, with forward slashes. */
  readonly file: string
  readonly text: string
  readonly replacement: string
}

export interface Mutant {
  readonly name: string
  /** The defect, for readers of the report. */
  readonly breaks: string
  readonly patches: readonly Patch[]
  /** SQL statements that remove the database's own safeguards. */
  readonly schema?: readonly string[] | undefined
  /**
   * Whether it removes a predicate on the tenant. Row-level security must stop such a mutant, and
   * the invariant catches it only without row-level security.
   */
  readonly dropsTenant?: true | undefined
  /** Settings of API and worker with which the rule matters, and that differ from the lane's. */
  readonly settings?: Readonly<Record<string, string>> | undefined
  /** The invariant of ARCHITECTURE.md that must catch it. */
  readonly caughtBy: number
  /** The runs that reveal it. One of them must. */
  readonly shownBy: readonly Label[]
}
