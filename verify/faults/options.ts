// The command line options of `npm run faults`.
import { findProgram, type Program } from '../../test/support/find-program.ts'
import { parseOptions, readNumber, UsageError } from '../../bench/options.ts'
import { arePageFaultsSlow } from '../../dev/page-faults.ts'
import { SEED_MAX } from '../simulate/random.ts'
import { secondProvider } from './extras.ts'
import type { Case } from './results.ts'
import { findNamed, IDEMPOTENT, providerKinds, providerNamed, readLabel } from './results.ts'
import { type Mutant, mutants } from './mutants/mutants.ts'
import { needsOf, scenarioNamed, scenarios } from './scenarios.ts'
import { faultNamed, faults } from './faults.ts'
import { USUAL_MINUTES } from './suite-plan.ts'

interface Possible {
  readonly scenarios: readonly string[]
  readonly mutants: readonly Mutant[]
  /** What is left out, and why, one line each. */
  readonly leftOut: readonly string[]
}

export function findPossible(
  isInstalled = (program: Program): boolean => findProgram(program) !== undefined,
  hasSecond = secondProvider !== undefined,
): Possible {
  const missing = (scenario: string) => findMissing(scenario, isInstalled, hasSecond)
  const names = scenarios.map(({ name }) => name)
  const missingTo = ({ shownBy }: Mutant) =>
    shownBy.map((label) => missing(readLabel(label).scenario)).find((reason) => reason)
  const leftOut = [
    ...names.map((name) => [name, missing(name)]),
    ...mutants.map((mutant) => [`mutant ${mutant.name}`, missingTo(mutant)]),
  ]
  return {
    scenarios: names.filter((name) => missing(name) === undefined),
    mutants: mutants.filter((mutant) => missingTo(mutant) === undefined),
    leftOut: leftOut.flatMap(([what, reason]) =>
      reason === undefined ? [] : `left out: ${what}, because ${reason}`,
    ),
  }
}

/** Returns the reason. */
function findMissing(
  scenario: string,
  isInstalled: (program: Program) => boolean,
  hasSecond: boolean,
): string | undefined {
  const needs = needsOf({ scenario, injections: [] })
  const programs: (Program | undefined)[] = [
    needs.pooled === true ? 'pgbouncer' : undefined,
    needs.extraServer?.program,
  ]
  const program = programs.find((one) => one !== undefined && !isInstalled(one))
  if (program !== undefined) return `${program} is not installed`
  return needs.secondProvider === true && !hasSecond ? 'no extra is a second provider' : undefined
}

export interface FaultsOptions {
  readonly help: boolean
  readonly quick: boolean
  /** The only run to make; undefined for the whole suite. */
  readonly only: Case | undefined
  /** The only mutants to run, without the suite; undefined: all of them, after the suite. */
  readonly mutants: readonly Mutant[] | undefined
  /** The kind of provider with which all runs are made, without the suite; undefined: the suite. */
  readonly provider: string | undefined
  /** The scenario in which every fault is injected, without the suite; undefined: the suite. */
  readonly scenario: string | undefined
  /** How often the only run is made. */
  readonly times: number
  /** Decides which runs a sample contains. */
  readonly seed: number
  /** How many runs are made at a time. */
  readonly lanes: number
  /** How long a full suite may take on two usual cores. */
  readonly minutes: number
  /** The soak, alone or beside the suite; undefined: none. */
  readonly soak: { readonly minutes: number; readonly alone: boolean } | undefined
}

export const HELP = `Usage: npm run faults -- [options]

Injects faults at every point of the protocols between the real API and worker processes,
PostgreSQL and the payment provider. A point is the moment before, after or halfway through a
message. After each fault the service has to recover, and the ten invariants of ARCHITECTURE.md
are checked. The suite starts its own PostgreSQL, Stripe stand-in, API and workers and needs no
other setup.

Without options it runs everything, which takes over an hour: one fault at each point, two or
three faults in one run, orders of provider events, other kinds of provider, noisy neighbours, all
mutants, and a soak of 15 minutes beside them. To end in time, it samples first variants of
operations and faults during recoveries, and last the faults of payment.create. SIGKILL and
connection reset at the points of payment.create are never left out.
The report is written to faults-report/report.json.

--quick          Takes about four minutes: SIGKILL or connection reset at 20 points of payment.create,
                 each fault once in a third of the scenarios, noisy neighbours, a few mutants, no
                 soak. The seed decides.
--minutes <n>    How long a full suite, or the runs of --scenario or --provider, may take on two
                 usual cores: 10 or more (default 75 for the suite, and no limit for the others). A
                 slower machine takes longer. With less time the samples are smaller; the seed
                 decides which.
--case <label>   Repeats one run. Every failed run is printed with its label:
                 <scenario>:<fault>@<point>, with +<fault>@<point> for each further fault.
--times <n>      How often to make the run of --case (default 1).
--mutant <name>  Runs one mutant only, or "all" of them. A mutant is the product with one rule
                 removed, and an invariant has to catch it.
--provider <name> Makes only the runs with this other kind of provider: forgetting, keyless or lying.
--scenario <name> Makes only the runs of this scenario: every fault at each of its points, or with
                 --quick or --minutes a sample of them.
--list           Lists the names of scenarios, faults, other providers and mutants.
--soak <minutes> Runs a soak only: steady load with a fault every few seconds.
--seed <n>       Selects other samples (default 1).
--lanes <n>      How many runs are made at a time (default 7, for two cores, or 2 on a machine
                 where processes start slowly). A lane is an isolated set of database, stand-in,
                 API and worker.
-h, --help       Prints this help.

Ctrl-C stops the suite and removes everything it started.

The last line is "<n> passed, <n> failed". Missed runs, in which a later fault could not be
injected, and skipped runs, which this machine does not permit, count as neither.

Exit codes: 0 nothing failed, 1 something failed, 2 usage error, 3 error of the suite itself,
130 interrupted.
`

const otherKinds = providerKinds.filter(({ name }) => name !== IDEMPOTENT)

const MINUTES = { usual: USUAL_MINUTES, min: 10, max: 24 * 60 }
const SOAK = { usual: 15, min: 1, max: 24 * 60 }
/**
 * Seven lanes took three times as long as two where a page fault takes 14 µs. Where it takes 3 µs, seven
 * made 31 runs a minute, and two made 45.
 */
const LANES = { usual: arePageFaultsSlow() ? 2 : 7, min: 1, max: 32 }

/** @throws UsageError when an option is unknown or invalid. */
export function readOptions(args: readonly string[]): FaultsOptions {
  const values = parseOptions(args, {
    quick: { type: 'boolean' },
    case: { type: 'string' },
    mutant: { type: 'string' },
    provider: { type: 'string' },
    scenario: { type: 'string' },
    times: { type: 'string' },
    seed: { type: 'string' },
    lanes: { type: 'string' },
    minutes: { type: 'string' },
    soak: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  })
  const only = readName(values.case, readCase)
  if (only === undefined && values.times !== undefined) {
    throw new UsageError('--times requires --case')
  }
  if (values.quick === true && values.minutes !== undefined) {
    throw new UsageError('--minutes cannot be combined with --quick')
  }
  return {
    help: values.help ?? false,
    quick: values.quick ?? false,
    only,
    mutants: readName(values.mutant, (name) =>
      name === 'all' ? mutants : [findNamed('mutant', mutants, name)],
    ),
    provider: readName(values.provider, (name) => findNamed('provider', otherKinds, name).name),
    scenario: readName(values.scenario, (name) => findNamed('scenario', scenarios, name).name),
    times: readNumber('--times', values.times, { usual: 1, min: 1, max: 10_000 }),
    seed: readNumber('--seed', values.seed, { usual: 1, min: 0, max: SEED_MAX }),
    lanes: readNumber('--lanes', values.lanes, LANES),
    minutes: readNumber('--minutes', values.minutes, {
      ...MINUTES,
      usual: (values.scenario ?? values.provider) === undefined ? MINUTES.usual : MINUTES.max,
    }),
    soak: readSoak(values.soak, values.quick ?? false),
  }
}

/** The names that the options take. */
export function listNames(): string {
  const lists = {
    scenarios,
    faults,
    providers: otherKinds,
    mutants,
  }
  const sections = Object.entries(lists).map(
    ([title, list]) => `${title}\n${list.map(({ name }) => `  ${name}\n`).join('')}`,
  )
  return sections.join('\n')
}

function readSoak(text: string | undefined, quick: boolean): FaultsOptions['soak'] {
  if (text === undefined && quick) return undefined
  if (quick) throw new UsageError('--soak cannot be combined with --quick')
  return { minutes: readNumber('--soak', text, SOAK), alone: text !== undefined }
}

function readCase(label: string): Case {
  const read = readLabel(label)
  scenarioNamed(read.scenario)
  providerNamed(read.provider)
  for (const { fault } of read.injections) faultNamed(fault)
  return read
}

/** @throws UsageError when the value of an option names nothing. */
function readName<Read>(text: string | undefined, read: (name: string) => Read): Read | undefined {
  if (text === undefined) return undefined
  try {
    return read(text)
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
