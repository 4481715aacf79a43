// Runs the service's own statements: those of an accepted payment or of a whole payment, by its own
// functions, without HTTP, provider, engine and log.
import { SERVICE_ROLE } from '../../../src/config.ts'
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { PgBoss } from 'pg-boss'
import { claimEachIfUnowned, type Claim } from '../../../src/db/operations/leases.ts'
import { recordEach } from '../../../src/db/operations/record-phases.ts'
import { openJobStore } from '../../../src/db/queue/job-store.ts'
import { JOB_SCHEMA, OPERATIONS_QUEUE, type OperationJob } from '../../../src/db/queue/queues.ts'
import type { FinalOutcome } from '../../../src/domain/operations/outcome.ts'
import { createPayment } from '../../../src/operations/create-payment/phases.ts'
import { systemClock } from '../../../src/engine/clock.ts'
import { moveOf } from '../../../src/engine/record-phase.ts'
import { nextStep } from '../../../src/engine/next-step.ts'
import { benchConfig, benchEngine } from '../../engine.ts'
import { reservePayment } from '../../reserve-payment.ts'
import { runLoop, serveLoop, type LoopCommand, type LoopReport } from './closed-loop.ts'

/** The batch size of a worker's poller. */
const JOBS_EACH = 4

const [databaseUrl = ''] = process.argv.slice(2)
const engine = await benchEngine(databaseUrl)
const {
  store: { sql },
  settings,
} = engine
const boss = new PgBoss({
  db: openJobStore({
    url: databaseUrl,
    applicationName: 'atomic-payments bench jobs',
    timeoutMs: benchConfig(databaseUrl).STORE_TIMEOUT_MS,
    role: SERVICE_ROLE,
  }),
  schema: JOB_SCHEMA,
  migrate: false,
  supervise: false,
  schedule: false,
})

await serveLoop(boss.start(), run)

async function run(command: LoopCommand): Promise<LoopReport> {
  const { what, tenantId, concurrency } = command
  const waiting = new Map<string, () => void>()
  const loop = runLoop(command, async () => {
    const { id } = await reservePayment(sql, tenantId, settings)
    if (what === 'payment') await new Promise<void>((resolve) => waiting.set(id, resolve))
  })
  const stopping = new AbortController()
  const workers =
    what === 'intent'
      ? []
      : Array.from({ length: Math.ceil(concurrency / JOBS_EACH) }, () =>
          workJobs(waiting, stopping.signal),
        )
  const report = await loop
  stopping.abort()
  await Promise.all(workers)
  return report
}

/** Fetches and completes jobs in batches, as the worker's pg-boss does. */
async function workJobs(waiting: Map<string, () => void>, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    const jobs = await boss.fetch<OperationJob>(OPERATIONS_QUEUE, {
      batchSize: JOBS_EACH,
      includeMetadata: true,
    })
    if (jobs.length === 0) {
      await delay(1)
      continue
    }
    await runJobs(jobs.map(({ data }) => data))
    await boss.complete(
      OPERATIONS_QUEUE,
      jobs.map(({ id }) => id),
    )
    for (const { data } of jobs) {
      waiting.get(data.operationId)?.()
      waiting.delete(data.operationId)
    }
  }
}

const AUTHORIZED = {
  outcome: 'done',
  asked: { amount: 1999, currency: 'usd' },
  answered: { status: 'requires_capture' },
} as const

async function runJobs(jobs: readonly OperationJob[]): Promise<void> {
  const claims = jobs.map(({ tenantId, operationId }) => ({
    ref: { tenantId, id: operationId },
    leaseMs: settings.LEASE_MS,
  }))
  await Promise.all((await claimEachIfUnowned(sql, claims)).map(recordAll))
}

async function recordAll(claim: Claim | undefined): Promise<void> {
  if (claim === undefined) throw new Error('an operation without an owner could not be claimed')
  const providerPaymentId = `pi_${randomUUID().replaceAll('-', '')}`
  const outcomes: Record<string, FinalOutcome<unknown>> = {
    started: {
      ...AUTHORIZED,
      value: { providerPaymentId, status: 'held', clientSecret: `${providerPaymentId}_secret_x` },
    },
    authorized: { ...AUTHORIZED, value: { amountCapturedMinor: 1999 } },
  }
  let subject: unknown = createPayment.subject(claim)
  for (const [recoveryPoint, outcome] of Object.entries(outcomes)) {
    subject = await recordPhase({ ...claim, recoveryPoint }, subject, outcome)
  }
}

/** Records a phase as the engine does. Returns the subject of the next phase. */
async function recordPhase(
  claim: Claim,
  subject: unknown,
  outcome: FinalOutcome<unknown>,
): Promise<unknown> {
  const lease = { claim, subject, endsAtMs: Infinity }
  const phase = claim.recoveryPoint
  const tries = [{ phase, reached: null, outcome, startedAt: new Date() }]
  const { step, record } = nextStep(systemClock, createPayment, { lease, runs: tries, outcome })
  const move = moveOf(engine.settings, claim.operation, step)
  const [isRecorded] = await recordEach(engine.store.sql, [{ claim, move, record }])
  if (isRecorded !== true) throw new Error(`${claim.id} lost its lease`)
  return step.kind === 'advance' ? step.subject : undefined
}
