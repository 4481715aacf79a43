// Creates folders that are removed after the test file and its hooks.
import { chmod, mkdtemp, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { temporaryFolders } from './worker/temporary-folders.ts'

/** Creates an empty folder. By default other users may enter it. */
export async function makeTemporaryFolder(mode = 0o755): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'atomic-payments-test-')))
  await chmod(folder, mode)
  temporaryFolders.push(folder)
  return folder
}
