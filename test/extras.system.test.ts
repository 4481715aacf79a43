// Deletes the extras from a copy of the project, as extras/README.md says: the rest compiles, and passes the
// tests of what could name an extra. No extra knows another one, so each can be deleted alone, too.
import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { cp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from '@jest/globals'
import { makeTemporaryFolder } from './support/temporary-folder.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const NOT_COPIED = ['node_modules', '.git', '.data']
const TESTS = [
  'test/(structure|config|wiring)\\.test',
  'test/http/(payments/providers|server/routes)\\.test',
  'test/(provider/contract/webhooks|start/tenants/run|dev/stack/process-settings)\\.test',
  'test/verify/faults/(machine-needs|plan|provider-proxy)\\.test',
  'test/(docs|dev/docs|deploy)/',
]

/** It uses the PostgreSQL of this run. */
const JEST_CONFIG = `import config from './jest.config.js'
export default { ...config, globalSetup: undefined, globalTeardown: undefined, maxWorkers: 2 }
`

const execute = promisify(execFile)

const extras = readdirSync(join(ROOT, 'extras'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

let folder: string

const run = async (...args: string[]) =>
  await execute(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, TESTS: 'npm', NODE_OPTIONS: '--disable-warning=ExperimentalWarning' },
  })

beforeAll(async () => {
  folder = join(await makeTemporaryFolder(), 'copy')
  for (const part of readdirSync(ROOT).filter((file) => !NOT_COPIED.includes(file))) {
    await cp(join(ROOT, part), join(folder, part), { recursive: true })
  }
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'copy.config.js'), JEST_CONFIG)
  for (const file of ['extras/index.ts', 'package.json']) {
    const text = await readFile(join(folder, file), 'utf8')
    const without = extras.reduce(withoutExtra, text)
    expect(without).not.toBe(text)
    await writeFile(join(folder, file), without)
  }
  for (const name of extras) await rm(join(folder, 'extras', name), { recursive: true })
  await run('src/openapi/main.ts')
  await run('dev/docs/main.ts')
})

test('without its extras the project compiles', async () => {
  await run('node_modules/typescript-7/bin/tsc', '--noEmit')
})

test('without its extras the project passes its tests', async () => {
  const jest = ['node_modules/jest/bin/jest.js', '--config', 'copy.config.js']

  const { stderr } = await run(...jest, ...TESTS)

  expect(stderr).toMatch(/Tests: .* [1-9]\d* passed/)
})

/** The file without the import of an extra and its place, or without its script. */
function withoutExtra(text: string, name: string): string {
  const pattern = new RegExp(
    `^import \\{ (\\w+) \\} from './${name}/.*\\n|^.* extras/${name}/.*\\n`,
    'm',
  )
  const [line = '', own] = pattern.exec(text) ?? []
  const without = text.replace(line, '')
  return own === undefined ? without : without.replaceAll(new RegExp(`\\b${own}\\b,? ?`, 'g'), '')
}
