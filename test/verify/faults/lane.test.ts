// A real lane whose workers are suspended faster than they can start.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'
import { Ground } from '../../../verify/faults/ground.ts'

const run = promisify(execFile)

async function listProcesses(folder: string): Promise<string[]> {
  const { stdout } = await run('ps', ['-A', '-ww', '-o', 'args='], { maxBuffer: 2 ** 24 })
  return stdout.split('\n').filter((line) => line.includes(folder))
}

test('successors that are suspended before they work are replaced, and none stays behind', async () => {
  const ground = await Ground.make()
  const lane = await ground.startLane({})
  const first = lane.process('worker')

  lane.stun('worker')
  lane.stun('worker')
  await lane.whole()
  lane.stun('worker')
  await lane.whole()

  expect(lane.process('worker')).not.toBe(first)
  expect(lane.processes.filter(({ role }) => role === 'worker').length).toBeGreaterThanOrEqual(3)
  expect(await listProcesses(ground.folder)).not.toEqual([])

  lane.stun('worker')
  await ground.remove()

  expect(await listProcesses(ground.folder)).toEqual([])
})
