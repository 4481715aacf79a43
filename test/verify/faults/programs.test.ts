import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import {
  buildPrograms,
  programIn,
  standbyOf,
  type Changes,
} from '../../../verify/faults/programs.ts'

let root: string

const MAIN = `
import { said } from './part.ts'
process.send?.({ said, from: import.meta.url })
process.disconnect()
`

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'atomic-payments-programs-')))
  await writeFile(join(root, 'main.ts'), MAIN)
  await writeFile(join(root, 'part.ts'), `export const said: string = 'as it is'\n`)
})

afterAll(() => rm(root, { recursive: true }))

/** The messages of the program in standby, and after its start. */
async function heardFrom(name: string, changes?: Changes): Promise<unknown[]> {
  const folder = join(root, name)
  await buildPrograms({ root, scripts: { main: standbyOf('main.ts') }, changes, folder })
  const child = fork(programIn(folder, 'main'), { execArgv: [] })
  const ended = once(child, 'exit')
  const providerStatus: unknown[] = await once(child, 'message')
  const saying = once(child, 'message')
  child.send({ type: 'go' })
  const said: unknown[] = await saying
  await ended
  return [providerStatus[0], said[0]]
}

test('a script stands by, and runs as if from its own folder when it is started', async () => {
  expect(await heardFrom('usual')).toEqual([
    { type: 'standing by' },
    { said: 'as it is', from: `file://${root}/main.ts` },
  ])
})

test.each([
  ['what it imports', 'part.ts', `export const said = 'changed'`],
  ['the script itself', 'main.ts', MAIN.replace('{ said,', `{ said: 'changed',`)],
])('a change of %s replaces its file', async (what, file, text) => {
  const [, said] = await heardFrom(what, new Map([[file, text]]))

  expect(said).toEqual({ said: 'changed', from: `file://${root}/main.ts` })
})

test('a script that does not compile is not built', async () => {
  const changes = new Map([['part.ts', `export const said = `]])

  await expect(heardFrom('broken', changes)).rejects.toThrow('Unexpected')
})
