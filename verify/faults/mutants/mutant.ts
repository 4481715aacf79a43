// A mutant: the product with one of its rules taken away, to prove that the suite sees it. A rule that has
// another one behind it (a constraint, a guard of the provider's) loses that as well: alone, it would be missed by
// nobody.
import type { Label } from '../case.ts'
import { providerNamed } from '../providers.ts'

/** A change of one file of the product, by a text that occurs in it once. */
export interface Patch {
  /** From the root of the repository, with forward slashes. */
  readonly file: string
  readonly text: string
  readonly replacement: string
}

/** The circumstances in which a rule matters; by default those of any other run. */
export interface Circumstances {
  /** Of API and worker, where they differ from those of the lane. */
  readonly settings: Readonly<Record<string, string>>
}

/** An invariant of ARCHITECTURE.md, by its number. */
export type Invariant = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10

export interface Mutant {
  readonly name: string
  /** What is wrong with it, for whoever reads the report. */
  readonly breaks: string
  readonly patches: readonly Patch[]
  /** Statements that take the database's own guards away. */
  readonly schema?: readonly string[]
  /**
   * It is a predicate that names the tenant: row-level security stands behind it and has to stop the mutant, which
   * is caught without that only.
   */
  readonly dropsTenant?: true
  readonly circumstances?: Circumstances
  /** Which invariant must catch it. */
  readonly caughtBy: Invariant
  /** The runs that show it, of which one must. */
  readonly shownBy: readonly Label[]
}

/** For runs against the provider of that name. */
export const KEYLESS: Circumstances = { settings: providerNamed('keyless').settings }

/** Takes row-level security away. */
export const NO_ROW_SECURITY = `
  do $$
  declare
    walled regclass;
  begin
    for walled in select oid::regclass from pg_class where relrowsecurity loop
      execute format('alter table %s disable row level security', walled);
    end loop;
  end
  $$
`

/** What refuses a phase that is recorded, or posted, a second time. */
export const NO_UNIQUE_STEPS: readonly string[] = [
  'drop index phase_runs_reached_once',
  'alter table ledger_postings drop constraint ledger_postings_once',
]
