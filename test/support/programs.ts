// Bundles the programs that tests start hundreds of times, and keeps their compiled code. Loading
// one then takes half the processor time of loading its source files.
import { fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync, utimesSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPrograms, programIn } from '../../verify/faults/programs.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CACHE = join(ROOT, 'node_modules/.cache/test-programs')

/** What the programs are built from. */
const SOURCES = [
  'src',
  'workers',
  'dev',
  'package-lock.json',
  'verify/faults/programs.ts',
  'test/support/programs.ts',
]

/** The name of each bundle by its script. */
const BUNDLES = {
  'src/start/api.ts': 'api',
  'src/start/reconcile.ts': 'reconcile',
  'src/start/tenants.ts': 'tenants',
  'workers/main.ts': 'worker',
  'dev/stripe-stand-in/main.ts': 'stripe-stand-in',
}

/** Not bundled, because it looks for other scripts beside its own. */
const LAUNCHER = 'dev/stack/main.ts'

/** A folder that no run used for so long is removed. */
const UNUSED_MS = 24 * 60 * 60 * 1_000

/** Builds the programs unless the sources are as they were. Jest's workers learn the folder. */
export async function prepareTestPrograms(): Promise<void> {
  const folder = join(CACHE, stampOf(SOURCES))
  process.env['TEST_PROGRAMS'] = folder
  if (existsSync(folder)) return utimesSync(folder, new Date(), new Date())
  await mkdir(CACHE, { recursive: true })
  await removeUnused()
  const unfinished = await mkdtemp(join(CACHE, 'unfinished-'))
  const scripts = Object.fromEntries(Object.entries(BUNDLES).map(([path, name]) => [name, path]))
  await buildPrograms({ root: ROOT, scripts, folder: unfinished })
  // Fails when another run has built the same in the meantime.
  await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true }))
  for (const script of [...Object.keys(BUNDLES), LAUNCHER]) await fillCompileCache(script)
}

/** What Node runs for a script of this repository: its bundle, if there is one. */
export function programOf(script: string): string {
  const name = Object.entries(BUNDLES).find(([path]) => path === script)?.[1]
  return name === undefined ? script : programIn(testPrograms(), name)
}

/** Node checks each entry against the source. */
export function compileCache(): string {
  return join(testPrograms(), 'compiled')
}

function testPrograms(): string {
  const folder = process.env['TEST_PROGRAMS']
  if (folder === undefined) throw new Error('no programs: jest.config.js has to name global-setup')
  return folder
}

/** Differs when a file was added, changed or removed. */
function stampOf(sources: readonly string[]): string {
  const hash = createHash('sha256')
  for (const source of sources) {
    const path = join(ROOT, source)
    const below = statSync(path).isDirectory() ? readdirSync(path, { recursive: true }) : []
    for (const name of ['', ...below.map(String).toSorted()]) {
      const { mtimeMs, size } = statSync(join(path, name))
      hash.update(`${source}/${name} ${mtimeMs} ${size}\n`)
    }
  }
  return hash.digest('hex').slice(0, 16)
}

async function removeUnused(): Promise<void> {
  for (const name of await readdir(CACHE)) {
    const folder = join(CACHE, name)
    const isOld = statSync(folder).mtimeMs < Date.now() - UNUSED_MS
    if (isOld) await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Node writes the cache when a process ends by itself, and most tests kill their processes. A wrong
 * setting ends a program when it is loaded.
 */
async function fillCompileCache(script: string): Promise<void> {
  const { PATH, HOME, TMPDIR } = process.env
  const wrong = { PORT: 'none', MOCK_PROVIDER_PORT: 'none' }
  const env = { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE: compileCache(), ...wrong }
  const stdio = ['ignore', 'ignore', 'ignore', 'ipc'] as const
  const child = fork(programOf(script), { cwd: ROOT, env, execArgv: [], stdio: [...stdio] })
  await once(child, 'exit')
}
