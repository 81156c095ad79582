"""What other frameworks call things: names that are answered with what to write, and arguments under other names."""

from collections.abc import Mapping

Table = Mapping[str, str]

# An argument of PyTorch's, Keras's or Lightning's, and what the same is called here.
SAME: Table = {
    "collate_fn":       "collate",      "prefetch_factor":   "prefetch",    "dataset":      "data",
    "workers":          "num_workers",  "num_parallel_calls": "num_workers", "drop_remainder": "drop_last",
    "params":           "parameters",   "learning_rate":     "lr",          "epsilon":      "eps",
    "num_classes":      "classes",      "rate":              "p",
    "criterion":        "loss",         "loss_fn":           "loss",        "max_epochs":   "epochs",
    "num_epochs":       "epochs",       "num_train_epochs":  "epochs",      "optim":        "optimizer",
    "validation_data":  "validation",   "val_data":          "validation",  "val_loader":   "validation",
    "val_dataloaders":  "validation",   "eval_dataset":      "validation",  "scheduler":    "schedule",
    "lr_scheduler":     "schedule",     "train_loader":      "data",        "train_dataloaders": "data",
    "train_dataset":    "data",         "accumulate_grad_batches": "accumulate",
    "gradient_accumulation_steps": "accumulate",               "gradient_clip_val": "clip",
    "max_grad_norm":    "clip",         "restore_best_weights": "restore",  "min_delta":    "least",
}

ONE_PROGRAM = "Leave it out: a compiled step updates all parameters in one program."
ON_CPU = "Leave it out: layers are made on the CPU in float32; write layer.to(device, dtype)."

# By room, an argument that means nothing here or something else, and what to do instead.
INSTEAD: Mapping[str, Table] = {
    "data": {
        "pin_memory": "Leave it out: batches are NumPy arrays that tensors share, and nothing is copied to a device.",
        "pin_memory_device": "Leave it out: nothing is copied to a device.",
        "persistent_workers": "Leave it out: workers are threads, which cost nothing to begin anew.",
        "worker_init_fn": "Leave it out: transform(sample, rng) is given random numbers of its sample.",
        "generator": "Write seed=0: the order of epoch k is a function of (seed, k).",
        "timeout": "Leave it out: a worker that ends raises its error where the batch would be.",
        "multiprocessing_context": "Write processes=True for processes; by default workers are threads.",
        "in_order": "Leave it out: batches come in one order for any number of workers.",
        "batch": "Write batch_size=64.", "num_parallel_calls": "Write data.Loader(dataset, num_workers=2).",
        "reshuffle_each_iteration": "Leave it out: with shuffle=True every epoch has an order of its own.",
        "buffer_size": "Write shuffle=True, which draws from all samples.",
        "deterministic": "Leave it out: batches are the same for any number of workers.",
    },
    "optim": {
        **dict.fromkeys(("beta_1", "beta_2", "b1", "b2"), "Write betas=(0.9, 0.999)."),
        **dict.fromkeys(("fused", "foreach", "capturable", "differentiable"), ONE_PROGRAM),
        **dict.fromkeys(("clipnorm", "global_clipnorm"), "Write optim.clip_grad_norm(parameters, 1.0) before step()."),
        "clipvalue": "Write optim.clip_grad_value(parameters, 1.0) before step().",
        "decay": "Write optim.ExponentialLR(optimizer, gamma), or another schedule.",
        "last_epoch": "Leave it out: schedule.load_state_dict(state) goes on where a schedule was.",
        "verbose": "Leave it out, and print optimizer.lr.",
        "rho": "Write alpha= of RMSprop, rho= of Adadelta.",
    },
    "metrics": {
        "task": "Leave it out: classes stand along an axis; one number for each sample is yes or no.",
        "name": "Leave it out: train.fit(metrics={'name': metric}) names it.",
        "dtype": "Leave it out: counts are exact, and means are float32.",
        "dist_sync_on_step": "Leave it out: one process counts.",
        "k": "Write top_k=1.",
    },
    "train": {
        "batch_size": "Write data.Loader((x, y), batch_size=64).",
        "shuffle": "Write data.Loader((x, y), shuffle=True).",
        "verbose": "Write callbacks=[train.Progress()], which shows a bar.",
        "validation_split": "Write validation=data.Loader(others), of some, others = dataset.split(0.9, 0.1).",
        "steps_per_epoch": "Leave it out: an epoch is all batches; a set has take(n).",
        "initial_epoch": "Write callbacks=[train.Checkpoint(folder, resume=True)], which goes on where a run was.",
        "resume_from_checkpoint": "Write callbacks=[train.Checkpoint(folder, resume=True)].",
        "class_weight": "Write loss=nn.CrossEntropyLoss(weight).",
        "logger": "Write callbacks=[train.JSONLines(path)], or another logger.",
        **dict.fromkeys(("accelerator", "devices", "device", "strategy"), "Leave it out: a step runs on all cores."),
        **dict.fromkeys(("fp16", "bf16", "amp"), "Write precision='bf16'."),
        "x": "Write train.fit(model, data.Loader((x, y), 64), ...).",
        "y": "Write train.fit(model, data.Loader((x, y), 64), ...).",
        "filepath": "Write train.Checkpoint(folder).",
        "save_best_only": "Write best=True.",
    },
    "nn": {
        "device": ON_CPU, "dtype": ON_CPU,
        "filters": "Write nn.Conv2d(in_channels, out_channels, kernel_size).",
        "strides": "Write stride=.", "units": "Write nn.Linear(in_features, out_features).",
        "activation": "Write the activation as a layer behind it: nn.Sequential(..., nn.ReLU()).",
        "kernel_initializer": "Write layer.weight.assign(nn.init.he_normal(layer.weight.shape)).",
        "input_shape": "Write the number of channels first, or a lazy layer such as nn.LazyLinear.",
        "use_bias": "Write bias=False.", "dilation_rate": "Write dilation=.",
        "input_dim": "Write nn.Embedding(num_embeddings, embedding_dim).",
        "output_dim": "Write nn.Embedding(num_embeddings, embedding_dim).",
    },
}

SPLIT = "some, others = dataset.split(0.9, 0.1)"
DATA: Table = {
    "DataLoader": "data.Loader(dataset, batch_size)", "TensorDataset": "data.ArrayDataset(x, y)",
    "FashionMNIST": "data.fashion_mnist(folder)", "MNIST": "data.mnist(folder)", "CIFAR10": "data.cifar10(folder)",
    "IMDB": "data.imdb(folder)", "CIFAR100": "data.cifar100(folder)", "SVHN": "data.svhn(folder)",
    "STL10": "data.stl10(folder)", "AG_NEWS": "data.ag_news(folder)", "SST2": "data.sst2(folder)",
    "WikiText2": "data.wikitext2(folder)", "load_iris": "data.iris(folder)", "load_wine": "data.wine(folder)",
    "random_split": SPLIT, "train_test_split": SPLIT, "Subset": "dataset.subset(indices)",
    "ConcatDataset": "one + another", "StackDataset": "data.ArrayDataset(x=..., y=...)",
    "ChainDataset": "an IterableDataset of yours that yields from one, then from the other",
    "SubsetRandomSampler": "data.Loader(dataset.subset(indices), shuffle=True)",
    "DistributedSampler": "stream.shard(k, n) of an IterableDataset, or dataset.subset(range(k, len(dataset), n))",
    "default_collate": "data.collate", "pad_sequence": "data.pad(sequences)", "pad_sequences": "data.pad(sequences)",
    "get_worker_info": "transform(sample, rng), whose random numbers no worker changes",
    "image_dataset_from_directory": "data.ImageFolder(folder)", "DatasetFolder": "data.ImageFolder(folder)",
    "text_dataset_from_directory": "data.TextFolder(folder)", "TabularDataset": "data.table(path)",
    "from_tensor_slices": "data.ArrayDataset(x, y)", "from_generator": "a class of yours of data.IterableDataset",
    "read_csv": "data.table(path)", "to_categorical": "st.one_hot(labels, classes)", "AUTOTUNE": "num_workers=2",
    "ToTensor": "data.transforms.ToFloat()", "Compose": "data.transforms.Compose([...])",
}
LOADED = "data.Loader(dataset, batch_size)"
SETS: Table = {     # of data sets
    "batch": LOADED, "prefetch": "data.Loader(dataset, prefetch=3)", "shuffle": "data.Loader(dataset, shuffle=True)",
    "repeat": "data.Loader(dataset): every `for` over it is an epoch", "skip": "dataset.subset(range(n, len(dataset)))",
    "cache": "data.ArrayDataset(x, y), which holds arrays", "as_numpy_iterator": "for sample in dataset",
    "enumerate": "enumerate(dataset)", "concatenate": "dataset + another", "select": "dataset.subset(indices)",
    "train_test_split": SPLIT, "random_split": SPLIT, "apply": "dataset.map(f)", "padded_batch":
    "data.Loader(dataset, batch_size, collate=data.pad)", "with_format": LOADED, "set_format": LOADED,
}
STREAMS: Table = {  # of streams
    name: text for name, text in SETS.items() if "subset" not in text and "split" not in text and "+" not in text
    and name != "shuffle"
} | {"skip": "itertools.islice(stream, n, None)", "select": "stream.filter(f)"}
LOADERS: Table = {   # of loaders
    "dataset": "loader.data", "worker_init_fn": "transform(sample, rng)", "set_epoch": "loader.batches(epoch)",
    "take": "data.Loader(dataset.take(n))", "as_numpy_iterator": "for batch in loader: batches are NumPy arrays",
}
TRANSFORMS: Table = {
    "ToTensor": "data.transforms.ToFloat()", "ToImage": "data.transforms.ToFloat()",
    "ToDtype": "data.transforms.ToFloat()", "ConvertImageDtype": "data.transforms.ToFloat()",
    "Rescaling": "data.transforms.ToFloat()", "PILToTensor": "st.io.imread(path)",
    "ToPILImage": "st.io.imsave(path, x)", "v2": "data.transforms, which has all of them",
    "functional": "a transform, called with an image", "RandomFlip": "data.transforms.RandomHorizontalFlip()",
    "RandomZoom": "data.transforms.RandomResizedCrop(size)", "RandomTranslation": "data.transforms.RandomAffine()",
    "HorizontalFlip": "data.transforms.RandomHorizontalFlip(p)",
    "VerticalFlip": "data.transforms.RandomVerticalFlip(p)", "Lambda": "a function in Compose([...])",
}
TRAINING: Table = {
    "ModelCheckpoint": "train.Checkpoint(folder)", "CSVLogger": "train.JSONLines(path)",
    "TensorBoardLogger": "train.TensorBoard(folder)", "MLFlowLogger": "train.MLflow()", "WandbLogger": "train.WandB()",
    "WandbCallback": "train.WandB()", "ReduceLROnPlateau": "schedule=optim.ReduceLROnPlateau of train.fit",
    "LearningRateScheduler": "schedule= of train.fit", "TerminateOnNaN": "train.NanGuard()",
    "StochasticWeightAveraging": "train.EMA()", "ProgressBar": "train.Progress()",
    "LightningModule": "train.Trainer", "LRFinder": "train.LearningRateFinder()",
    "BackupAndRestore": "train.Checkpoint(folder, resume=True)", "LambdaCallback": "a class of yours of train.Callback",
    "GradientAccumulationScheduler": "accumulate= of train.fit", "LearningRateMonitor": "train.JSONLines(path)",
    "RichProgressBar": "train.Progress()", "TQDMProgressBar": "train.Progress()", "TrainingArguments": "train.fit",
    "EarlyStoppingCallback": "train.EarlyStopping(patience)",
}
LOSSES: Table = {    # by name, of `train.fit`
    **dict.fromkeys(("sparse_categorical_crossentropy", "categorical_crossentropy"),
                    "'cross_entropy', and leave the softmax out: it takes logits"),
    "binary_crossentropy": "'bce_with_logits', and leave the sigmoid out; 'bce' takes probabilities",
}
METRICS: Table = {
    **dict.fromkeys(("SparseCategoricalAccuracy", "CategoricalAccuracy", "BinaryAccuracy", "MulticlassAccuracy",
                     "accuracy_score"), "metrics.Accuracy()"),
    **dict.fromkeys(("F1Score", "MulticlassF1Score", "f1_score"), "metrics.F1(classes)"),
    **dict.fromkeys(("AUC", "BinaryAUROC", "roc_auc_score"), "metrics.AUROC()"),
    **dict.fromkeys(("JaccardIndex", "MeanIoU"), "metrics.IoU(classes)"),
    **dict.fromkeys(("R2Score", "r2_score"), "metrics.R2()"),
    **dict.fromkeys(("TopKCategoricalAccuracy", "SparseTopKCategoricalAccuracy"), "metrics.Accuracy(top_k=5)"),
    "MeanMetric": "metrics.Mean()", "confusion_matrix": "metrics.ConfusionMatrix(classes)",
    "RootMeanSquaredError": "metrics.MeanSquaredError(), and its root", "MetricCollection": "a dict of metrics",
}
MEASURES: Table = {     # of metrics
    "update_state": "metric.update(predictions, target)", "result": "metric.compute()",
    "reset_state": "metric.reset()", "reset_states": "metric.reset()",
}
MODULES: Table = {      # of modules
    "fit": "train.fit(model, data.Loader((x, y), 64), loss='cross_entropy', optimizer='adam')",
    "compile": "train.fit(model, loader, loss=..., optimizer=...), or st.compile(step)",
    "predict": "model.eval(), and model(x) under st.no_grad()",
    "evaluate": "train.fit(..., validation=loader), or a metric's update in a loop over batches",
    "summary": "nn.summary(model, (1, 3, 32, 32))", "trainable_variables": "model.parameters()",
    "trainable_weights": "model.parameters()", "weights": "model.state_dict()", "get_weights": "model.state_dict()",
    "set_weights": "model.load_state_dict(state)", "save_weights": "model.save(path)",
    "load_weights": "model.load(path)", "count_params": "sum(p.size for p in model.parameters())",
    "cuda": "nothing: programs run on the CPU", "cpu": "model.to('cpu')", "share_memory": "nothing: threads share it",
}
UTILS: Table = {
    "clip_grad_norm_": "optim.clip_grad_norm(parameters, 1.0)",
    "clip_grad_value_": "optim.clip_grad_value(parameters, 1.0)",
    "weight_norm": "nn.utils.parametrizations.weight_norm(layer)",
    "spectral_norm": "nn.utils.parametrizations.spectral_norm(layer)",
    "parameters_to_vector": "st.concatenate([p.flatten() for p in model.parameters()])",
}
INIT: Table = {
    "glorot_uniform": "nn.init.xavier_uniform(shape)", "glorot_normal": "nn.init.xavier_normal(shape)",
    "kaiming_uniform": "nn.init.he_uniform(shape)", "kaiming_normal": "nn.init.he_normal(shape)",
}
LAYERS: Table = {
    "Conv1D": "nn.Conv1d", "Conv2D": "nn.Conv2d", "Conv3D": "nn.Conv3d", "Conv2DTranspose": "nn.ConvTranspose2d",
    "Dense": "nn.Linear(in_features, out_features)", "BatchNormalization": "nn.BatchNorm2d",
    "LayerNormalization": "nn.LayerNorm", "MaxPooling2D": "nn.MaxPool2d", "AveragePooling2D": "nn.AvgPool2d",
    "Swish": "nn.SiLU",
    "CrossMapLRN2d": "nn.LocalResponseNorm", "StochasticDepth": "nn.DropPath", "NLLLoss2d": "nn.NLLLoss",
    "SyncBatchNorm": "nn.BatchNorm2d", "weight_norm": "nn.utils.parametrizations.weight_norm",
    "spectral_norm": "nn.utils.parametrizations.spectral_norm",
    "GlobalAveragePooling2D": "nn.AdaptiveAvgPool2d(1)", "GlobalMaxPooling2D": "nn.AdaptiveMaxPool2d(1)",
    "MultiHeadAttention": "nn.MultiheadAttention(embed_dim, num_heads)", "UpSampling2D": "nn.Upsample(scale_factor=2)",
    "ZeroPadding2D": "nn.ZeroPad2d(padding)", "Bidirectional": "nn.LSTM(..., bidirectional=True)",
    "Activation": "nn.ReLU(), or st.relu(x)", "Lambda": "a function in forward", "Reshape": "x.reshape(shape)",
    "Add": "x + y", "Concatenate": "st.concatenate([x, y], axis=1)", "Input": "nothing: the first call says the shape",
    "InputLayer": "nothing: the first call says the shape", "DataParallel": "nothing: a step runs on all cores",
    "TimeDistributed": "the layer itself, which takes further axes in front", "Model": "nn.Module",
    "MeanSquaredError": "nn.MSELoss()", "CategoricalCrossentropy": "nn.CrossEntropyLoss()",
    "SparseCategoricalCrossentropy": "nn.CrossEntropyLoss()", "BinaryCrossentropy": "nn.BCEWithLogitsLoss()",
    "Huber": "nn.HuberLoss()", "MeanAbsoluteError": "nn.L1Loss()",
}
FUNCTIONAL: Table = {
    "relu_": "F.relu(x)", "elu_": "F.elu(x)", "leaky_relu_": "F.leaky_relu(x)", "rrelu_": "F.rrelu(x)",
    "selu_": "F.selu(x)", "celu_": "F.celu(x)", "hardtanh_": "F.hardtanh(x)", "threshold_": "F.threshold(x, 0.0, 0.0)",
    "upsample_nearest": "F.interpolate(x, scale_factor=2)", "conv_tbc": "F.conv1d(x.permute(1, 2, 0), weight, bias)",
    "upsample_bilinear": "F.interpolate(x, scale_factor=2, mode='bilinear', align_corners=True)",
    "native_channel_shuffle": "F.channel_shuffle(x, groups)", "log_sigmoid": "F.logsigmoid(x)", "swish": "F.silu(x)",
    "max_pool2d_with_indices": "F.max_pool2d(x, kernel_size, return_indices=True)",
}
OPTIMIZERS: Table = {
    "Momentum": "optim.SGD(parameters, lr, momentum=0.9)", "sgd": "optim.SGD", "adam": "optim.Adam",
    "lr_scheduler": "optim itself, such as optim.CosineAnnealingLR(optimizer, T_max)", "StepDecay": "optim.StepLR",
    "ExponentialDecay": "optim.ExponentialLR", "clip_grad_norm_": "optim.clip_grad_norm",
    "clip_grad_value_": "optim.clip_grad_value", "swa_utils": "optim.SWA(model.parameters())",
    "AveragedModel": "optim.SWA(model.parameters())", "GradScaler": "optim.LossScaler()",
    "warmup_cosine_decay_schedule": "optim.SequentialLR of optim.LinearLR and optim.CosineDecay",
    "adamw": "optim.AdamW", "lion": "optim.Lion", "lamb": "optim.LAMB", "rmsprop": "optim.RMSprop",
    "Nadam": "optim.NAdam", "RMSProp": "optim.RMSprop",
    "chain": "optim.clip_grad_norm and an optimizer, one after the other",
    "apply_updates": "optimizer.step()",
}
