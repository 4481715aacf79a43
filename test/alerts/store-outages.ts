// Outages of PostgreSQL. Each is longer than an API key is cached, so that requests fail already
// when they are authenticated.
import { postPayment } from '../support/client.ts'
import { until } from '../support/until.ts'
import { maintenanceTasks } from '../../workers/maintenance.ts'
import { scrapeProcess, type Labels } from './recording.ts'
import type { OutagesOfService, Scene } from './scene.ts'

/** The alert needs more than six in a minute. */
const REQUESTS_IN_A_MINUTE = 10

const STORE_ERRORS = { alertname: 'AtomicPaymentsStoreErrors' }
const API_ERRORS = { alertname: 'AtomicPaymentsApiErrors' }

const tasks = maintenanceTasks
  .filter(({ intervalMs }) => intervalMs !== null)
  .map(({ name }) => name)

const EVERY_TASK_FAILS: readonly Labels[] = tasks.map((task) => ({
  alertname: 'AtomicPaymentsMaintenanceFails',
  task,
}))

const circuitOpen = (circuit: string) => ({ alertname: 'AtomicPaymentsCircuitOpen', circuit })

async function requestPayments({ service, tenant }: Scene): Promise<void> {
  const sent = Array.from({ length: REQUESTS_IN_A_MINUTE }, () =>
    postPayment(service.apiUrl, tenant),
  )
  for (const { status } of await Promise.all(sent)) {
    if (status !== 503) throw new Error(`a payment got ${status} without a database`)
  }
}

async function isOpen({ service }: Scene, circuit: string): Promise<boolean> {
  const { value } = await scrapeProcess(service.api)
  return value('atomic_payments_circuit_open', { circuit }) === 1
}

async function requestUntilOpen(scene: Scene, circuit: string): Promise<void> {
  await until(async () => {
    await requestPayments(scene)
    return await isOpen(scene, circuit)
  })
}

/** Resolves when the worker has had more store errors than the alert needs in a minute. */
async function waitForWorkerErrors({ service }: Scene): Promise<void> {
  const errors = async () => {
    const { samples } = await scrapeProcess(service.worker)
    return samples
      .filter(({ name }) => name === 'atomic_payments_store_errors_total')
      .reduce((sum, { value }) => sum + value, 0)
  }
  const before = await errors()
  await until(async () => (await errors()) >= before + REQUESTS_IN_A_MINUTE)
}

export const storeOutages: OutagesOfService = {
  settings: { STORE_TIMEOUT_MS: '1000' },
  stopsPostgres: true,
  outages: [
    {
      name: 'PostgreSQL hangs',
      minutes: 18,
      async begin(scene) {
        const { service, postgres } = scene
        // From now on its API key is cached, for longer than it takes to open the first circuit.
        const tenant = await service.createTenant()
        await postPayment(service.apiUrl, tenant)
        const sessions = await service.store.sql<
          { pid: number }[]
        >`select pid from pg_stat_activity`
        postgres?.freeze(sessions.map(({ pid }) => pid))
        // A task that is in a transaction waits, one that is not fails.
        scene.standStill = tasks
        // First the keys of requests cannot be reserved, and later the API keys cannot be looked up.
        await requestUntilOpen({ ...scene, tenant }, 'store_reservations')
        await requestUntilOpen(scene, 'store_reads')
        return () => requestPayments(scene)
      },
      async end(scene) {
        scene.postgres?.thaw()
        // A lookup that the hanging server answers late caches the API key once more.
        await until(async () => {
          await postPayment(scene.service.apiUrl, scene.tenant)
          return !(await isOpen(scene, 'store_reads'))
        })
      },
      fires: [
        API_ERRORS,
        circuitOpen('store_reads'),
        circuitOpen('store_reservations'),
        STORE_ERRORS,
      ],
      mayFire: ['AtomicPaymentsMaintenanceFails', 'AtomicPaymentsMaintenanceStandsStill'],
    },
    {
      name: 'PostgreSQL crashes',
      minutes: 18,
      async begin(scene) {
        await scene.postgres?.stop()
        await requestUntilOpen(scene, 'store_reads')
        return () => requestPayments(scene)
      },
      end: ({ postgres }) => Promise.resolve(postgres?.start()),
      fires: [API_ERRORS, circuitOpen('store_reads'), ...EVERY_TASK_FAILS, STORE_ERRORS],
    },
    {
      name: 'PostgreSQL crashes while no request arrives',
      minutes: 18,
      async begin(scene) {
        await scene.postgres?.stop()
        return () => waitForWorkerErrors(scene)
      },
      fires: [...EVERY_TASK_FAILS, STORE_ERRORS],
    },
  ],
}
