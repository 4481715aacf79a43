// Plays an outage with real processes and scrapes them once in each minute of it, and every fourth
// minute of half an hour before and after it. promtool evaluates the alerts against these scrapes.
import { postPayment } from '../support/client.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../support/until.ts'
import { maintenanceTasks } from '../../workers/maintenance.ts'
import { evaluateAlerts, type Expectation } from './promtool.ts'
import { scrapeProcess, type Recording } from './recording.ts'
import type { Outage, Scene } from './scene.ts'

/** Longer than the longest window of an alert and its delay together. */
const QUIET_MINUTES = 31

const RUNS = 'atomic_payments_maintenance_duration_seconds_count'

/**
 * Plays an outage after a quiet time, and another quiet time.
 *
 * @throws Error when an alert fires before or after the outage, or others in it than it names.
 */
export async function playOutage(
  scene: Scene,
  outage: Outage,
  recording: Recording,
): Promise<void> {
  const expectations: Expectation[] = []
  const expectNow = (firing: Expectation['firing'], besides: Expectation['besides'] = []) =>
    expectations.push({ minute: recording.minutes - 1, firing, besides })

  expectNow([])
  const inEachMinute = await outage.begin(scene)
  await passMinutes(scene, recording, outage.minutes, inEachMinute ?? (() => undefined))
  expectNow(outage.fires, outage.mayFire)
  if (outage.end !== undefined) {
    await outage.end(scene)
    scene.standStill = []
    await until(async () => (await postPayment(scene.service.apiUrl, scene.tenant)).status === 201)
    await passQuietTime(scene, recording)
    expectNow([])
  }
  evaluateAlerts(scene.folder, recording.series(), expectations)
  recording.keep(QUIET_MINUTES)
}

async function payAsUsual({ service, tenant }: Scene): Promise<void> {
  const { status } = await postPayment(service.apiUrl, tenant)
  if (status !== 201) throw new Error(`a payment got ${status} without an outage`)
}

/** Every fourth minute has a payment and each task: the alerts look at five minutes at least. */
const MINUTES_OF_QUIET = 4

export async function passQuietTime(scene: Scene, recording: Recording): Promise<void> {
  for (let left = QUIET_MINUTES; left > 0; left -= MINUTES_OF_QUIET) {
    await untilEachTaskRan(scene, () => payAsUsual(scene))
    await recording.scrape(scene.targets, Math.min(left, MINUTES_OF_QUIET))
  }
}

async function passMinutes(
  scene: Scene,
  recording: Recording,
  minutes: number,
  inEachMinute: () => unknown,
): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    await untilEachTaskRan(scene, inEachMinute)
    await recording.scrape(scene.targets)
  }
}

const LOOK_MS = 60

/** Works, and waits until each maintenance task ran, except those that stand still. */
async function untilEachTaskRan(scene: Scene, work: () => unknown): Promise<void> {
  const before = await maintenanceRuns(scene)
  await work()
  await until(async () => {
    // Each look is a scrape, which costs the worker more than its tasks.
    await delay(LOOK_MS)
    const now = await maintenanceRuns(scene)
    return before.every(({ task, runs }, index) => {
      const more = (now[index]?.runs ?? 0) > runs
      return more || scene.standStill.includes(task)
    })
  })
}

/** The runs of each maintenance task in the workers that answer. */
async function maintenanceRuns({ targets }: Scene): Promise<{ task: string; runs: number }[]> {
  const workers = targets.filter(({ job }) => job === 'atomic-payments-worker')
  const expositions = await Promise.all(
    workers.map(({ process }) => scrapeProcess(process).catch(() => undefined)),
  )
  if (expositions.every((exposition) => exposition === undefined)) return []
  return maintenanceTasks
    .filter(({ intervalMs }) => intervalMs !== null)
    .map(({ name: task }) => ({
      task,
      runs: expositions.reduce((sum, answer) => sum + (answer?.value(RUNS, { task }) ?? 0), 0),
    }))
}
