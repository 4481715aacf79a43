// `npm run reconcile`: compares our records with the provider's in its own process, and prints the
// differences. Its exit code shows whether a difference needs an operator.
import { parseArgs } from 'node:util'
import { SingleBar } from 'cli-progress'
import { z } from 'zod'
import { ConfigError } from '../config-formats.ts'
import type { Finding } from '../db/operations/findings.ts'
import { createLog } from '../log.ts'
import type { Engine } from '../engine/engine.ts'
import { carryOutRun } from '../reconciliation/carry-out-run.ts'
import { stages, type ComparisonWatcher, type Counts } from '../reconciliation/comparison.ts'
import { BY_COMMAND, insertRun, windowOf } from '../reconciliation/runs.ts'
import { requireStoredKeys } from '../encryption/seals.ts'
import { wireEngine, wireWorkerBase } from '../wiring.ts'
import { readConfigBesideStack } from './stack-settings.ts'

const HELP = `Usage: npm run reconcile -- [--from <time>] [--to <time>]

Compares the payments, refunds and movements of each provider in a time window
with our payments and ledger, in both directions. It starts the repair of
everything that can be repaired automatically. Every other difference becomes a
finding and is listed.

--from  The start of the window: a date or an ISO 8601 time, in UTC unless the
        time has an offset. Examples: 2026-11-20, 2026-11-20T15:00.
--to    The end of the window (exclusive). Without --from and --to, the window is
        yesterday; with only one of them, it is one day.

Exit code: 0 no findings, 1 open findings, 2 the comparison failed.
`

const FOUND_SOMETHING = 1
const NOT_COMPARED = 2

/** More would not help on a terminal. All findings are in the database. */
const FINDINGS_SHOWN = 200

const time = z.union([z.iso.date(), z.iso.datetime({ offset: true })])
const timeWithoutOffset = z.iso.datetime({ local: true })

type Window = ReturnType<typeof windowOf>

/** The columns of the findings, with their widths: at most 120 characters, with two spaces between them. */
const columns: readonly [title: string, width: number, cell: (finding: Finding) => string][] = [
  ['DIFFERENCE', 16, ({ kind }) => kind],
  ['OBJECT', 32, ({ objectId }) => objectId],
  ['HERE', 32, ({ ours }) => summarize(ours)],
  ['THERE', 32, ({ theirs }) => summarize(theirs)],
]

class UsageError extends Error {
  override name = 'UsageError'
}

try {
  process.exitCode = await reconcile(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`reconcile: ${reasonOf(error)}\n`)
  process.exitCode = NOT_COMPARED
}

async function reconcile(args: readonly string[]): Promise<number> {
  const { help, ...window } = readArguments(args)
  if (help) {
    process.stdout.write(HELP)
    return 0
  }
  const config = await readConfigBesideStack()
  // No log lines on the terminal: it shows the progress and the report.
  const engine = await wireEngine(config, wireWorkerBase(config, createLog('reconcile', 'silent')))
  try {
    if (config.ENCRYPTION_KEYS) await requireStoredKeys(engine.store.sql, config.ENCRYPTION_KEYS)
    return await compareAll(engine, window)
  } finally {
    await engine.store.close()
  }
}

/** Compares with one provider after the other, also if one fails. Returns the exit code. */
async function compareAll(engine: Engine, window: Window): Promise<number> {
  const names = engine.providers.all.map(({ name }) => name)
  const interrupted = untilInterrupted()
  let exitCode = 0
  for (const name of names) {
    if (names.length > 1) process.stdout.write(`Provider ${name}\n`)
    try {
      exitCode = Math.max(exitCode, await compareWindow(engine, name, window, interrupted))
    } catch (error) {
      if (interrupted.aborted) throw error
      process.stderr.write(`reconcile: ${reasonOf(error)}\n`)
      exitCode = NOT_COMPARED
    }
  }
  return exitCode
}

async function compareWindow(
  engine: Engine,
  provider: string,
  window: Window,
  signal: AbortSignal,
): Promise<number> {
  const run = await insertRun(engine.store.sql, { provider, requestedBy: BY_COMMAND, ...window })
  const shown: Finding[] = []
  const found = (findings: readonly Finding[]) => {
    shown.push(...findings.slice(0, FINDINGS_SHOWN - shown.length))
  }
  const { progressed, stop } = process.stderr.isTTY
    ? barOn(process.stderr)
    : linesOn(process.stderr)
  const options = { watcher: { progressed, found }, signal }
  const counts = await carryOutRun(engine, run.id, options).finally(stop)
  if (counts === undefined) throw new Error('another process has carried out this run')
  process.stdout.write(summaryOf(window, counts, shown))
  return counts.open > 0 ? FOUND_SOMETHING : 0
}

function summaryOf({ from, to }: Window, counts: Counts, shown: readonly Finding[]): string {
  const { payments, refunds, movements, open, found } = counts
  const compared = `${payments} payments, ${refunds} refunds and ${movements} movements`
  const lines = [
    `Compared ${compared} from ${from.toISOString()} to ${to.toISOString()}.`,
    `Repairs started: ${counts.repaired} payments to follow, ${counts.checks} unknown outcomes to ` +
      `check, ${counts.requeued} events to process.`,
    `Posted fees of the provider: ${counts.fees}.`,
    `Not compared, because an operation is working on them: ${counts.in_motion}.`,
    `Not compared, because they belong to no payment, such as payouts: ${counts.account_movements}.`,
    open === 0 ? 'No open findings.' : `Open findings: ${open}, of which ${found} are new.`,
  ]
  const table = shown.length === 0 ? '' : `\n${showFindings(shown)}`
  const more = open > shown.length ? `... and ${open - shown.length} more\n` : ''
  return `${table}${more}\n${lines.join('\n')}\n`
}

type Progress = Pick<ComparisonWatcher, 'progressed'> & { readonly stop: () => void }

/** Shows a progress bar that covers the window once for each stage. */
function barOn(stream: NodeJS.WritableStream): Progress {
  const bar = new SingleBar({
    stream,
    format: '[{bar}] {percentage} %  {payments} payments, {refunds} refunds, {movements} movements',
    hideCursor: true,
    clearOnComplete: true,
  })
  bar.start(stages.length, 0, { payments: 0, refunds: 0, movements: 0 })
  return {
    progressed: (stage, share, counts) => bar.update(stages.indexOf(stage) + share, counts),
    stop: () => bar.stop(),
  }
}

/** Writes a line for each tenth of each stage. */
function linesOn(stream: NodeJS.WritableStream): Progress {
  let last = ''
  return {
    progressed(stage, share, counts) {
      const line = `${stage}: ${Math.floor(share * 10) * 10} %`
      if (line === last) return
      last = line
      const { payments, refunds, movements } = counts
      stream.write(`${line}  ${payments} payments, ${refunds} refunds, ${movements} movements\n`)
    },
    stop: () => {},
  }
}

/** @throws UsageError, or an error of `parseArgs`. */
function readArguments(args: readonly string[]) {
  const options = {
    from: { type: 'string' },
    to: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const
  const { from, to, help = false } = parseArgs({ args: [...args], options }).values
  const window = windowOf(readTime('--from', from), readTime('--to', to), new Date())
  if (window.from >= window.to) throw new UsageError('--from must be before --to')
  return { help, ...window }
}

function readTime(name: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  if (time.safeParse(text).success) return new Date(text)
  if (timeWithoutOffset.safeParse(text).success) return new Date(`${text}Z`)
  throw new UsageError(`${name} must be a date or an ISO 8601 time, such as 2026-11-20`)
}

function untilInterrupted(): AbortSignal {
  const interrupted = new AbortController()
  const interrupt = () => interrupted.abort(new Error('interrupted'))
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
  return interrupted.signal
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof UsageError) return `${error.message}\n\n${HELP}`
  if (error instanceof ConfigError) return error.message
  const code = 'code' in error ? String(error.code) : error.name
  const text = `could not compare: ${error.message === '' ? code : error.message}`
  return code.startsWith('ERR_PARSE_ARGS') ? `${text}\n\n${HELP}` : text
}

/** A line of titles, then one line per finding. Amounts are in minor units. */
function showFindings(findings: readonly Finding[]): string {
  const titles = columns.map(([title, width]) => fit(title, width))
  const rows = findings.map((finding) =>
    columns.map(([, width, cell]) => fit(cell(finding), width)),
  )
  return [titles, ...rows].map((cells) => `${cells.join('  ').trimEnd()}\n`).join('')
}

function fit(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width)
}

/** Shows the posted or captured amount if there is one, not the requested amount. */
function summarize(evidence: Finding['ours']): string {
  if (evidence === null) return '-'
  const { status, kind, currency, booked, amount, amount_captured: captured } = evidence
  return [status ?? kind, booked ?? (captured === 0 ? amount : (captured ?? amount)), currency]
    .filter((part) => typeof part === 'number' || (typeof part === 'string' && part !== ''))
    .join(' ')
}
