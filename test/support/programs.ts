// The programs that tests start hundreds of times, as bundles, and their compiled code.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { PROGRAMS_UNDER_TEST, programIn } from '../../verify/faults/programs.ts'
import { ROOT, buildOnce, bundleFolder } from './bundles.ts'

/** What the programs are built from. */
const SOURCES = [
  'cli',
  'client',
  'dev',
  'extras',
  'mcp',
  'src',
  'workers',
  'verify',
  'test/support/programs.ts',
]

/** The name of each bundle by its script. */
const BUNDLES = {
  'cli/main.ts': 'atomic',
  'dev/stack/main.ts': 'stack',
  'dev/stripe-stand-in/main.ts': 'stripe-stand-in',
  'mcp/main.ts': 'mcp',
  'src/start/api.ts': 'api',
  'src/start/doctor.ts': 'doctor',
  'src/start/migrate.ts': 'migrate',
  'src/start/reconcile.ts': 'reconcile',
  'src/start/rotate-encryption.ts': 'rotate-encryption',
  'src/start/tenants.ts': 'tenants',
  'verify/simulate/main.ts': 'simulate',
  'workers/main.ts': 'worker',
}

const FAULTS = 'faults'

/** Builds the programs unless the sources are as they were. Jest's workers learn the folder. */
export async function prepareTestPrograms(): Promise<void> {
  const folder = bundleFolder('test-programs', SOURCES)
  process.env['TEST_PROGRAMS'] = folder
  const scripts = [
    ...Object.entries(BUNDLES).map(([path, name]) => [name, path]),
    ...Object.entries(PROGRAMS_UNDER_TEST).map(([name, path]) => [`${FAULTS}/${name}`, path]),
  ]
  if (!(await buildOnce(folder, Object.fromEntries(scripts)))) return
  for (const script of Object.keys(BUNDLES)) await fillCompileCache(script)
}

/** What Node runs for a script of this repository: its bundle, if there is one. */
export function programOf(script: string): string {
  const name = Object.entries(BUNDLES).find(([path]) => path === script)?.[1]
  return name === undefined ? script : programIn(testPrograms(), name)
}

/** The folder of the fault suite's programs. */
export function faultPrograms(): string {
  return join(testPrograms(), FAULTS)
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

/**
 * Node writes the cache when a process ends by itself, and most tests kill their processes. A wrong
 * setting or `--help` ends a program when it is loaded.
 */
async function fillCompileCache(script: string): Promise<void> {
  const { PATH, HOME, TMPDIR } = process.env
  const wrong = { PORT: 'none', MOCK_PROVIDER_PORT: 'none' }
  const env = { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE: compileCache(), ...wrong }
  const stdio = ['ignore', 'ignore', 'ignore', 'ipc'] as const
  const child = fork(programOf(script), ['--help'], {
    cwd: ROOT,
    env,
    execArgv: [],
    stdio: [...stdio],
  })
  await once(child, 'exit')
}
