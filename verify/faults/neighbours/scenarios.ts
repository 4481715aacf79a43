// The scenarios with neighbours: what one tenant does must not delay another one on the same
// processes. Each measures the same tenant alone and then beside the noise, in one run.
import type { LaneNeeds, Scenario } from '../scenario.ts'
import { GUESSES_A_WINDOW, guessKeys, WINDOW_SECONDS } from './key-guessing.ts'
import { makeNoise } from './noisy-neighbour.ts'
import { silenceNames } from './silent-dns.ts'

/** Provider and receivers have names, and every limit of the product is one that a run can reach. */
const needs: LaneNeeds = {
  byName: true,
  // No process is killed, and a standby process costs as much as a working one.
  standbys: [],
  settings: {
    PROVIDER_TIMEOUT_MS: '4000',
    LEASE_MS: '20000',
    STORE_TIMEOUT_MS: '5000',
    DATABASE_POOL_SIZE: '4',
    WORKER_CONCURRENCY: '8',
    WEBHOOK_CONCURRENCY: '6',
    WEBHOOK_TIMEOUT_MS: '1000',
    WEBHOOK_ALLOW_INSECURE: 'true',
    DNS_TIMEOUT_MS: '1000',
    API_KEY_CACHE_SECONDS: '5',
    RATE_LIMIT_INVALID_KEYS: String(GUESSES_A_WINDOW),
    // A run that is made again waits for the next window: its client sends a key that is new.
    RATE_LIMIT_WINDOW_SECONDS: String(WINDOW_SECONDS),
  },
}

export const neighbours: readonly Scenario[] = [
  { name: 'noisy-neighbour', needs, act: (merchant) => makeNoise(merchant, 300) },
  { name: 'noisy-neighbour.full', needs, act: (merchant) => makeNoise(merchant, 10_000) },
  { name: 'silent-dns', needs, act: silenceNames },
  { name: 'key-guessing', needs, act: guessKeys },
]
