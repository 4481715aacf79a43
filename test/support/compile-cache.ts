// Keeps the compiled code of the programs that tests start. A program then takes half the CPU time
// to load, and the tests start hundreds of them. Node checks each entry against the source.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const COMPILE_CACHE = fileURLToPath(
  new URL('../../node_modules/.cache/test-programs', import.meta.url),
)

const PROGRAMS = [
  'src/start/api.ts',
  'workers/main.ts',
  'dev/stripe-stand-in/main.ts',
  'dev/stack/main.ts',
]

/**
 * Fills the cache if there is none. Node writes it when a process ends by itself, and most tests
 * kill their processes. A wrong setting ends a program when it is loaded.
 */
export async function fillCompileCache(): Promise<void> {
  if (existsSync(COMPILE_CACHE)) return
  const { PATH, HOME, TMPDIR } = process.env
  const env = { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE: COMPILE_CACHE, PORT: 'none' }
  for (const program of PROGRAMS) {
    const script = fileURLToPath(new URL(`../../${program}`, import.meta.url))
    const options = { env: { ...env, MOCK_PROVIDER_PORT: 'none' }, execArgv: [] }
    await once(fork(script, { ...options, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] }), 'exit')
  }
}
