"""Sound through the Fourier transform: the notes of a chord, hum taken out, and an echo by a product of spectra.

    python docs/audio.py
"""
import stele as st

RATE = 8000
NOTES = {"C4": 261.63, "E4": 329.63, "G4": 392.0, "A4": 440.0, "B4": 493.88}
time = st.arange(RATE, dtype="float64") / RATE
rng = st.random.default_rng(5)


def tone(frequency: float) -> st.Tensor:
    """A second of a note that dies away, with two overtones."""
    waves = (st.sin(2 * st.pi * k * frequency * time) / k for k in (1, 2, 3))
    return sum(waves, st.zeros_like(time)) * st.exp(-2 * time)


chord = tone(NOTES["C4"]) + tone(NOTES["E4"]) + tone(NOTES["G4"])
hum = 2.0 * st.sin(2 * st.pi * 50 * time)
heard = chord + hum + 0.2 * rng.normal(size=RATE)


@st.compile
def loudness(sound: st.Tensor) -> st.Tensor:
    """The strength of every frequency, under a window that keeps it in its place."""
    return st.abs(st.fft.rfft(sound * st.hanning(RATE, dtype="float64")))


strength = loudness(heard)
frequency = st.fft.rfftfreq(RATE, 1 / RATE, dtype="float64")
near = {name: float(strength[st.abs(frequency - f) < 3].max()) for name, f in NOTES.items()}
loudest = max(near.values())
print("notes:", [name for name, s in near.items() if s > loudest / 4])


@st.compile
def without(sound: st.Tensor, low: float, high: float) -> st.Tensor:
    """The sound without a band of frequencies."""
    spectrum = st.fft.rfft(sound)
    return st.fft.irfft(st.where((frequency > low) & (frequency < high), 0, spectrum), n=RATE)


clean = without(heard, 30, 70)
ratio = lambda sound: 10 * float(st.log10((chord ** 2).sum() / ((sound - chord) ** 2).sum()))
print(f"signal to noise: {ratio(heard):.0f} dB before, {ratio(clean):.0f} dB after")

# An echo is a convolution, here a product of spectra; as long as the sums, direct and transformed ones agree.
room = st.zeros(1200, dtype="float64")
room[0], room[400], room[1100] = 1.0, 0.5, 0.25
n = RATE + 1199
echo = st.fft.irfft(st.fft.rfft(chord, n) * st.fft.rfft(room, n), n=n)
direct = st.convolve(chord, room)
print("echo by spectra is the echo by sums:", bool(st.allclose(echo, direct, atol=1e-9)))

decibels = 20 * st.log10(loudness(clean)[20:1220].reshape(60, 20).max(axis=1))
for low in range(60, 20, -5):
    print("".join("#" if v > low else " " for v in decibels.tolist()))
