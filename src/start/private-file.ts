// Writes files that contain a secret, for example a database URL with its password.
import { rename, writeFile } from 'node:fs/promises'

/**
 * Writes a file that only its owner may read. The rename makes it atomic, so a crash leaves no half
 * file.
 */
export async function writePrivately(file: string, text: string): Promise<void> {
  const unfinished = `${file}.unfinished`
  await writeFile(unfinished, text, { mode: 0o600 })
  await rename(unfinished, file)
}
