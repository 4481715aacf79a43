// Outages of the workers: they are gone, they are frozen, a task hangs, or they are too slow.
import postgres, { type Sql } from 'postgres'
import { queueGroups } from '../../src/config.ts'
import { postPayment } from '../support/client.ts'
import { until } from '../support/until.ts'
import { scrapeProcess, type Labels } from './recording.ts'
import { forgetAll, killAll, replaceWorker, type OutagesOfService, type Scene } from './scene.ts'

const ASYNC = { headers: { prefer: 'respond-async' } }

/** The limit of the alert, and more leases than that. A worker runs so many operations at a time. */
const LEASES_LOST = 5
const LEASES = 8

/** Above the limit of the alert on deep queues, and what a worker fetches meanwhile. */
const BACKLOG = 1_100

/** The worker has enough to do with them until the end of the outage. */
const SLOW_PAYMENTS = 40

/** Every task that an alert watches. */
const NO_TASK_RUNS: readonly Labels[] = ['check', 'reap', 'sweep', 'watch'].map((task) => ({
  alertname: 'AtomicPaymentsMaintenanceStandsStill',
  task,
}))

/** It was the only one, and worked on everything. */
const NO_WORKER: readonly Labels[] = queueGroups.map((group) => ({
  alertname: 'AtomicPaymentsNoWorker',
  group,
}))

const WORKER_GONE = { alertname: 'AtomicPaymentsTargetGone', job: 'atomic-payments-worker' }

const killWorkers = (scene: Scene) => killAll(scene, 'atomic-payments-worker')

async function acceptPayments({ service, tenant }: Scene, count: number): Promise<void> {
  for (let accepted = 0; accepted < count; accepted += LEASES) {
    const sent = Array.from({ length: LEASES }, () =>
      postPayment(service.apiUrl, tenant, undefined, ASYNC),
    )
    for (const { status } of await Promise.all(sent)) {
      if (status !== 202) throw new Error(`a payment got ${status}`)
    }
  }
}

async function freezeWhileCalling(scene: Scene): Promise<void> {
  const { service } = scene
  const match = { method: 'POST', path: '/v1/payment_intents' }
  const delay = { match, fault: 'delay', delay_ms: 3_000, times: LEASES }
  await service.control('POST', 'faults', delay)
  await acceptPayments(scene, LEASES)
  await until(async () => {
    const { data } = (await service.control('GET', 'faults')) as { data: { struck: number }[] }
    return data[0]?.struck === LEASES
  })
  const { worker: frozen } = service
  frozen.kill('SIGSTOP')
  await replaceWorker(scene)
  await until(async () => {
    const [row] = await service.store.sql<{ unfinished: number }[]>`
      select count(*)::int as unfinished from idempotency_keys where status <> 'completed'
    `
    return row?.unfinished === 0
  })
  frozen.kill('SIGCONT')
  scene.targets = [...scene.targets, { job: 'atomic-payments-worker', process: frozen }]
  await until(async () => {
    const { value } = await scrapeProcess(frozen)
    return (value('atomic_payments_leases_lost_total') ?? 0) > LEASES_LOST
  })
}

let locker: Sql

export const workerOutages: OutagesOfService = {
  settings: {
    // By default the statement of a hanging task would fail in time. In a small pool, statements of
    // other tasks could wait behind it.
    STORE_TIMEOUT_MS: '600000',
    DATABASE_POOL_SIZE: '20',
    // Long enough to freeze a worker while all of its calls are in progress.
    PROVIDER_TIMEOUT_MS: '4000',
    LEASE_MS: '8000',
  },
  outages: [
    {
      name: 'the only worker crashes',
      minutes: 12,
      begin: killWorkers,
      end: (scene) => replaceWorker(scene),
      fires: [...NO_TASK_RUNS, ...NO_WORKER, WORKER_GONE],
    },
    {
      name: 'the only worker and its container are gone',
      minutes: 12,
      async begin(scene) {
        await killWorkers(scene)
        forgetAll(scene, 'atomic-payments-worker')
      },
      end: (scene) => replaceWorker(scene),
      fires: [...NO_TASK_RUNS, ...NO_WORKER, WORKER_GONE],
    },
    {
      name: 'a maintenance task hangs',
      minutes: 12,
      async begin(scene) {
        locker = postgres(scene.service.databaseUrl, { max: 1 })
        await locker`begin`
        await locker`set local idle_in_transaction_session_timeout = 0`
        await locker`lock table key_tombstones in exclusive mode`
        scene.standStill = ['reap']
      },
      end: () => locker.end(),
      fires: [{ alertname: 'AtomicPaymentsMaintenanceStandsStill', task: 'reap' }],
    },
    {
      name: 'a worker freezes for longer than its leases',
      minutes: 8,
      begin: freezeWhileCalling,
      end: () => Promise.resolve(),
      fires: [{ alertname: 'AtomicPaymentsLeasesLost' }],
    },
    {
      name: 'payments arrive faster than the workers complete them',
      minutes: 7,
      async begin(scene) {
        const { service } = scene
        await killWorkers(scene)
        await replaceWorker(scene, { WORKER_CONCURRENCY: '1' })
        const fault = { match: { method: 'POST' }, fault: 'delay', delay_ms: 900, times: 1_000 }
        await service.control('POST', 'faults', fault)
        await acceptPayments(scene, SLOW_PAYMENTS)
        // Behind them, at once instead of by requests: more jobs of the last of these payments.
        await service.store.sql`
        insert into atomic_jobs.job (name, data, policy)
        select name, data, policy from generate_series(1, ${BACKLOG}::int), (
          select name, data, policy from atomic_jobs.job
          where name = 'operations' and state = 'created' order by start_after desc limit 1
        ) as last
      `
        await until(async () => {
          const { value } = await scrapeProcess(scene.service.worker)
          return (value('atomic_payments_queue_depth', { queue: 'operations' }) ?? 0) > 1_000
        })
      },
      fires: [{ alertname: 'AtomicPaymentsQueueDeep', queue: 'operations' }],
    },
  ],
}
