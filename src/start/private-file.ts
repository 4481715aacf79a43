// Writes files that hold a secret, such as the URL of a database with its password.
import { rename, writeFile } from 'node:fs/promises'

/** Writes a file that only its owner may read. The rename keeps a crash from leaving half of it. */
export async function writePrivately(file: string, text: string): Promise<void> {
  const unfinished = `${file}.unfinished`
  await writeFile(unfinished, text, { mode: 0o600 })
  await rename(unfinished, file)
}
