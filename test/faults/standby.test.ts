import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { settingsFor } from './service-process.ts'

const STANDBY = fileURLToPath(new URL('standby.ts', import.meta.url))

let root: string

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'atomic-payments-standby-')))
  await mkdir(join(root, 'changes'))
  await writeFile(
    join(root, 'main.ts'),
    `import { said } from './part.ts'\nprocess.send?.({ type: said })\nprocess.disconnect()\n`,
  )
  await writeFile(join(root, 'part.ts'), `export const said: string = 'as it is'\n`)
  await writeFile(join(root, 'changes', 'part.ts'), `export const said: string = 'changed'\n`)
})

afterAll(() => rm(root, { recursive: true }))

/** What it says when it stands by, and when it has been told to go. */
async function heardFrom(changes?: string): Promise<unknown[]> {
  const env = { ...process.env, ...settingsFor(changes) }
  const child = fork(STANDBY, [join(root, 'main.ts')], { cwd: root, env, execArgv: [] })
  const ended = once(child, 'exit')
  const standing: unknown[] = await once(child, 'message')
  const saying = once(child, 'message')
  child.send({ type: 'go' })
  const said: unknown[] = await saying
  await ended
  return [standing[0], said[0]]
}

test('a script stands by, and is run when it is told to', async () => {
  expect(await heardFrom()).toEqual([{ type: 'standing by' }, { type: 'as it is' }])
})

test('files of the folder of changes are read in place of its own', async () => {
  const heard = await heardFrom(join(root, 'changes'))

  expect(heard).toEqual([{ type: 'standing by' }, { type: 'changed' }])
})
