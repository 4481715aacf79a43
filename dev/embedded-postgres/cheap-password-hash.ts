// Makes connections to a throwaway server cheap: by default each costs thousands of rounds of
// hashing, on both sides.
import { withStore } from './with-store.ts'

/** @param url of the server's owner, with the password. */
export async function useCheapPasswordHash(url: string): Promise<void> {
  await withStore(url, ({ sql }) =>
    sql.begin(async (tx) => {
      await tx`set local scram_iterations = 1`
      // Needs no escaping: the password has hexadecimal digits only.
      await tx.unsafe(`alter role current_user password '${new URL(url).password}'`)
    }),
  )
}
