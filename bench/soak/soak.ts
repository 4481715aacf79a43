// Runs `npm run bench -- --soak`: a sustainable load for minutes, with all maintenance tasks, and a
// check that memory, latency and tables do not grow.
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from '../../src/db/connection/client.ts'
import { JOB_SCHEMA } from '../../src/db/queue/jobs.ts'
import { startDatabase, type Measuring } from '../benchmark.ts'
import type { Progress } from '../progress.ts'
import { publish, type Plot, type Table } from '../report.ts'
import { seedCompleted } from '../seed.ts'
import type { BenchOptions } from '../speed/arguments.ts'
import { rounded } from '../spread.ts'
import { payUntilSucceeded } from '../speed/subjects.ts'
import { UNLIMITED, type BenchTenant, type Services } from '../stack.ts'
import { curvesOf, isBusy, type JudgedCurve } from './curves.ts'
import { takeSample, type Sample } from './samples.ts'
import { Traffic } from './traffic.ts'

const GROWS = 1

/** In a shorter soak a third can end before the tables are vacuumed once. */
const MINUTES_MIN = 5

export async function announceSoak({ minutes }: BenchOptions, progress: Progress): Promise<void> {
  progress.say(`${minutes} minutes of load, after about one minute of preparation`)
  if (minutes < MINUTES_MIN) {
    progress.say(`Less than ${MINUTES_MIN} minutes prove nothing: autovacuum runs once a minute`)
  }
}

export async function measureSoak(measuring: Measuring): Promise<number> {
  const { stack, options, progress } = measuring
  const machine = await startDatabase(measuring)
  const { sql } = stack.owner
  const tenants = await stack.createTenants()
  const keys = options.payments
  await seedCompleted(sql, { keys, tenants }, progress.begin('Seeding', keys))
  progress.say('Starting the service')
  const services = await stack.startServices(UNLIMITED, 'usual')
  const retentionSeconds = retentionSecondsOf(options.minutes)
  await shortenRetention(sql, retentionSeconds)
  await sql`vacuum (analyze)`
  const rate = options.rate === 0 ? await chooseRate(measuring, services, tenants) : options.rate
  progress.say(`${rate} requests per second`)
  const { samples, ...answers } = await soak(measuring, services, { tenants, rate })
  const curves = curvesOf(samples)
  const at = new Date().toISOString()
  const last = samples.at(-1)
  await publish(
    'soak',
    { at, options, machine, rate, retentionSeconds, curves, samples, ...answers },
    {
      title: `${options.minutes} minutes of steady load`,
      conditions:
        `${rate} requests/s: ${last?.payments.toLocaleString('en')} payments of ` +
        `${last?.answers.toLocaleString('en')} answers; keys and jobs kept for ${retentionSeconds} s`,
      tables: [tableOfCurves(curves, answers)],
      plots: plotsOf(curves, samples),
    },
  )
  const isFlat = answers.unexpected === 0 && curves.every(({ verdict }) => verdict !== 'GROWS')
  return isFlat ? 0 : GROWS
}

const RETENTION_MIN = 10
const RETENTION_MAX = 90

/**
 * A soak reaches the state that a service reaches after days: as many rows are deleted as created.
 * Returns a twelfth of the soak: the first deletions happen well before its second third.
 */
function retentionSecondsOf(minutes: number): number {
  return Math.min(RETENTION_MAX, Math.max(RETENTION_MIN, Math.round((minutes * 60) / 12)))
}

/**
 * The settings allow no less than a day. A trigger sets `expires_at` when a key is written, so that
 * no row is updated only for this purpose. Jobs take the retention of their queue when they are
 * created; existing jobs keep theirs.
 */
async function shortenRetention(sql: Sql, seconds: number): Promise<void> {
  await sql.unsafe(`
    create function expire_soon() returns trigger language plpgsql as $$
    begin
      new.expires_at := least(new.expires_at, now() + interval '${seconds} seconds');
      return new;
    end $$;
    create trigger expire_soon before insert or update on idempotency_keys
    for each row execute function expire_soon();
  `)
  await sql`update ${sql(JOB_SCHEMA)}.queue set deletion_seconds = ${seconds}`
}

/**
 * Makes the workers delete completed jobs at pg-boss's next check, within seconds. pg-boss's usual
 * interval is longer than most soaks.
 */
async function requestDeletion(sql: Sql): Promise<void> {
  await sql`update ${sql(JOB_SCHEMA)}.queue set maintain_on = now() - interval '2 days'`
}

const MARKS = { flat: 'reached', GROWS: 'missed', 'not judged': undefined } as const

const shown = (value: number | null | undefined) =>
  value === null || value === undefined ? '' : rounded(value)

function tableOfCurves(
  curves: readonly JudgedCurve[],
  { unexpected, firstUnexpected }: Omit<SoakResult, 'samples'>,
): Table {
  return {
    heading: ['', 'unit', 'middle third', 'last third', 'factor', 'slack', 'beginning', 'verdict'],
    rows: curves.map(({ plot, name, unit, middle, last, tolerance, values, verdict }) => {
      const { factor = '', slack = '' } = tolerance ?? {}
      const beginning = shown(values.find((value) => value !== null))
      const thirds = [shown(middle), shown(last)]
      return {
        cells: [`${plot}: ${name}`, unit, ...thirds, factor, slack, beginning, verdict],
        mark: MARKS[verdict],
      }
    }),
    notes: [
      'GROWS: the median of the last third is above that of the middle third x factor + slack.',
      ...(isBusy(curves)
        ? ['Other processes used the machine during the soak: latency is not judged.']
        : []),
      ...(unexpected === 0
        ? []
        : [`${unexpected} unexpected answers, the first: ${firstUnexpected}`]),
    ],
  }
}

function plotsOf(curves: readonly JudgedCurve[], samples: readonly Sample[]): Plot[] {
  const labels = samples.slice(1).map(({ seconds }) => (seconds / 60).toFixed(1))
  return [...Map.groupBy(curves, ({ plot }) => plot)].map(([title, ofPlot]) => ({
    title,
    labels,
    across: 'minutes',
    up: ofPlot[0]?.unit ?? '',
    lines: ofPlot.map(({ name, values }) => ({ name, values })),
  }))
}

const TRIAL_CLIENTS = 16
const TRIAL_SECONDS = 5

/** Returns half of the throughput of payments that are waited for. */
async function chooseRate(
  { progress, signal }: Measuring,
  { apiUrl, providerUrl }: Services,
  tenants: readonly BenchTenant[],
): Promise<number> {
  progress.say('Measuring the throughput')
  const [tenant] = tenants
  if (tenant === undefined) throw new Error('there is no tenant')
  const place = { apiUrl, providerUrl, tenant, completed: [], signal }
  const pay = () => payUntilSucceeded(place, TRIAL_CLIENTS, TRIAL_SECONDS)
  // Warms up: compiles code, plans statements and opens connections.
  await pay()
  const { timesMs, seconds } = await pay()
  return Math.max(1, Math.round(timesMs.length / seconds / 2))
}

interface Load {
  readonly tenants: readonly BenchTenant[]
  readonly rate: number
}

interface SoakResult {
  readonly samples: readonly Sample[]
  /** The number of answers with an unexpected status, and the first of them. */
  readonly unexpected: number
  readonly firstUnexpected: string | undefined
}

async function soak(
  { stack, options, progress, signal }: Measuring,
  { apiUrl, api, worker }: Services,
  { tenants, rate }: Load,
): Promise<SoakResult> {
  const owner = stack.owner.sql
  const postgresPid = await stack.postgresPid()
  const target = { owner, apiPid: api.pid, workerPid: worker.pid, postgresPid }
  const everySeconds = secondsBetweenSamples(options.minutes)
  const count = Math.round((options.minutes * 60) / everySeconds)
  const progressed = progress.begin('Soaking', count)
  const traffic = new Traffic({ apiUrl, tenants, rate })
  const beganAt = performance.now()
  const samples: Sample[] = [await takeSample(target, 0, traffic.takeReport())]
  try {
    for (let number = 1; number <= count; number += 1) {
      const dueAt = beganAt + number * everySeconds * 1_000
      await delay(Math.max(0, dueAt - performance.now()), undefined, { signal })
      await requestDeletion(owner)
      const seconds = Math.round((performance.now() - beganAt) / 100) / 10
      samples.push(await takeSample(target, seconds, traffic.takeReport()))
      progressed(number)
    }
  } finally {
    await traffic.stop()
  }
  const { unexpected, firstUnexpected } = traffic.takeReport()
  return { samples, unexpected, firstUnexpected }
}

/** Aims at 120 samples, each with enough answers for a p99. */
function secondsBetweenSamples(minutes: number): number {
  return Math.min(10, Math.max(2, Math.round(minutes / 2)))
}
