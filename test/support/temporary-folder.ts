// Creates folders that are removed after the test file.
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from '@jest/globals'

const folders: string[] = []

afterAll(async () => {
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })))
})

/** Creates an empty folder. By default other users may enter it. */
export async function makeTemporaryFolder(mode = 0o755): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'atomic-payments-test-')))
  await chmod(folder, mode)
  folders.push(folder)
  return folder
}
