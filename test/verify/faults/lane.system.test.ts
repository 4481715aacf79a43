// A real lane whose workers are suspended faster than they can start.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'
import { Environment } from '../../../verify/faults/environment.ts'
import { faultPrograms } from '../../support/programs.ts'

const run = promisify(execFile)

/** The programs that this process has started and that still run. */
async function listPrograms(): Promise<string[]> {
  const { stdout } = await run('ps', ['-A', '-ww', '-o', 'ppid=,args='], { maxBuffer: 2 ** 24 })
  const own = stdout.split('\n').filter((line) => Number.parseInt(line, 10) === process.pid)
  return own.filter((line) => line.includes(faultPrograms()))
}

test('successors that are suspended before they work are replaced, and none stays behind', async () => {
  const environment = await Environment.create(faultPrograms())
  const lane = await environment.startLane({})
  const first = lane.process('worker')

  lane.suspend('worker')
  lane.suspend('worker')
  await lane.untilWhole()
  lane.suspend('worker')
  await lane.untilWhole()

  expect(lane.process('worker')).not.toBe(first)
  expect(lane.processes.filter(({ role }) => role === 'worker').length).toBeGreaterThanOrEqual(3)
  expect(await listPrograms()).not.toEqual([])

  lane.suspend('worker')
  await environment.remove()

  expect(await listPrograms()).toEqual([])
})
