// Creates and removes the temporary folder of a run. The run keeps its PostgreSQL in this folder.
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Creates an empty folder that all users may enter: under root, the server runs as `postgres`.
 *
 * @param purpose becomes a part of the name, so that a leftover folder shows its origin.
 */
export async function makeThrowawayFolder(purpose: string, parent = tmpdir()): Promise<string> {
  const folder = await mkdtemp(join(parent, `atomic-payments-${purpose}-`))
  await chmod(folder, 0o755)
  return folder
}

/** Removes the folder and the database in its subfolder `postgres`, if there is one. */
export async function removeThrowawayFolder(folder: string): Promise<void> {
  await removeDatabase(join(folder, 'postgres'))
  await rm(folder, { recursive: true, force: true })
}

/** Removes a server's directory. It may be a link to a folder that the server account can enter. */
export async function removeDatabase(directory: string): Promise<void> {
  const place = await realpath(directory).catch(() => directory)
  await rm(place, { recursive: true, force: true })
}
