// A mutant: the product with one rule removed, to prove that the suite detects it. Some rules have
// a second safeguard behind them, for example a constraint or a check of the provider. Such a
// mutant removes both, because without the rule alone nothing would break.
import type { Label } from '../case.ts'
import { providerNamed } from '../providers.ts'

/** Replaces a text that occurs exactly once in a file of the product. */
export interface Patch {
  /** Relative to the root of the repository, with forward slashes. */
  readonly file: string
  readonly text: string
  readonly replacement: string
}

/** The circumstances in which a rule matters; by default those of any run. */
export interface Circumstances {
  /** Settings of API and worker that differ from those of the lane. */
  readonly settings: Readonly<Record<string, string>>
}

/** An invariant of ARCHITECTURE.md, by its number. */
export type Invariant = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10

export interface Mutant {
  readonly name: string
  /** The defect, for readers of the report. */
  readonly breaks: string
  readonly patches: readonly Patch[]
  /** SQL statements that remove the database's own safeguards. */
  readonly schema?: readonly string[]
  /**
   * Whether it removes a predicate on the tenant. Row-level security must stop such a mutant, and
   * the invariant catches it only without row-level security.
   */
  readonly dropsTenant?: true
  readonly circumstances?: Circumstances
  /** The invariant that must catch it. */
  readonly caughtBy: Invariant
  /** The runs that reveal it. One of them must. */
  readonly shownBy: readonly Label[]
}

/** For runs against the `keyless` provider. */
export const KEYLESS: Circumstances = { settings: providerNamed('keyless').settings }

/**
 * As if the provider kept keys for a second: an owner that comes too early repeats the call, and every
 * later one looks it up.
 */
export const KEYLESS_UNTIL_A_LOOK: Circumstances = {
  settings: {
    // At least the key window, so that a call whose lease expired is never repeated.
    LEASE_MS: '1100',
    PROVIDER_KEY_WINDOW_SECONDS: '1',
    CALL_ATTEMPTS: '1',
    JOB_RETRY_DELAY_SECONDS: '2',
  },
}

/** Disables row-level security. */
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

/** Looks whether a key is free before it is inserted. The schema must not reject it a second time. */
export const CHECK_THEN_INSERT: Patch = {
  file: 'src/db/idempotency/reserve-keys.ts',
  text: `  return await tx<ReservedRow[]>\`
    insert into idempotency_keys \${rowsOf(tx, rows)}
    on conflict (tenant_id, key) do nothing
`,
  replacement: `  const used = await tx<{ key: string }[]>\`
    select key from idempotency_keys
    where tenant_id = \${rows[0]?.tenant_id ?? ''} and key = any(\${rows.map(({ key }) => key)}::text[])
  \`
  const free = rows.filter(({ key }) => used.every((other) => other.key !== key))
  if (free.length === 0) return []
  return await tx<ReservedRow[]>\`
    insert into idempotency_keys \${rowsOf(tx, free)}
`,
}

export const NO_UNIQUE_KEY =
  'alter table idempotency_keys drop constraint idempotency_keys_one_per_key'

/** Removes the constraints that reject a phase recorded, or posted, a second time. */
export const NO_UNIQUE_STEPS: readonly string[] = [
  'drop index phase_runs_reached_once',
  'alter table ledger_postings drop constraint ledger_postings_once',
]
