"""A NumPy script whose import line alone was changed: the daily temperatures of three invented years.

    python docs/numpy_script.py
"""
import stele as np  # was: import numpy as np

day = np.arange(3 * 365)
season = -9.5 * np.cos(2 * np.pi * (day - 20) / 365)
weather = 3 * np.sin(day * 0.71) + 2 * np.cos(day * 0.173) * np.sin(day * 1.9)
temperature = 10.5 + season + weather + day * 0.002

years = temperature.reshape(3, 365)
print("mean of each year  ", [f"{mean:.2f}" for mean in years.mean(axis=1).tolist()])
print("warmest, coldest   ", int(np.argmax(temperature)), int(np.argmin(temperature)))
print("days of frost      ", np.count_nonzero(years < 0, axis=1).tolist())

month = np.minimum(day % 365 // 30.5, 11).astype("int64")
means = np.bincount(month, weights=temperature, minlength=12) / np.bincount(month, minlength=12)
print("by month           ", [f"{mean:.1f}" for mean in means.tolist()])

smooth = np.convolve(temperature, np.ones(31) / 31, mode="valid")
print("31 days at most    ", round(float(smooth.max()), 2))

waves = np.stack([np.ones(len(day)), day / 365, np.cos(2 * np.pi * day / 365), np.sin(2 * np.pi * day / 365)], axis=1)
level, trend, *wave = np.linalg.lstsq(waves, temperature)[0].tolist()
print("warmer each year by", round(trend, 2))
print("half of the swing  ", round((wave[0] ** 2 + wave[1] ** 2) ** 0.5, 1))

counts, edges = np.histogram(temperature, bins=6, range=(-6, 30))
for count, low in zip(counts.tolist(), edges.tolist()):
    print(f"{low:5.0f} {'*' * (count // 12)}")
