// A real lane whose workers are suspended faster than they can start.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'
import { Environment } from '../../../verify/faults/environment.ts'

const run = promisify(execFile)

async function listProcesses(folder: string): Promise<string[]> {
  const { stdout } = await run('ps', ['-A', '-ww', '-o', 'args='], { maxBuffer: 2 ** 24 })
  return stdout.split('\n').filter((line) => line.includes(folder))
}

test('successors that are suspended before they work are replaced, and none stays behind', async () => {
  const environment = await Environment.create()
  const lane = await environment.startLane({})
  const first = lane.process('worker')

  lane.suspend('worker')
  lane.suspend('worker')
  await lane.untilWhole()
  lane.suspend('worker')
  await lane.untilWhole()

  expect(lane.process('worker')).not.toBe(first)
  expect(lane.processes.filter(({ role }) => role === 'worker').length).toBeGreaterThanOrEqual(3)
  expect(await listProcesses(environment.folder)).not.toEqual([])

  lane.suspend('worker')
  await environment.remove()

  expect(await listProcesses(environment.folder)).toEqual([])
})
